"""Snakemake as a user starts it, without the seconds that it takes to import it and to read our code.

A server process imports all that once and forks for each command line; what runs in the fork is Snakemake's
own entry point, with the real Snakefile, profiles and package.  It is a process of its own because one with
threads, such as a worker of the tests, should not be forked.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Server:
    """Runs command lines one after the other; to be closed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "forked"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'workflow'}:{ROOT / 'tests'}"},
        )

    def __call__(self, folder: Path, arguments: list[str], env: dict[str, str]) -> tuple[int, str]:
        """Return the exit code of ``snakemake <arguments>`` in ``folder``, and all that it printed."""
        argv = ["snakemake", "--snakefile", str(ROOT / "Snakefile"), *arguments]
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as printed:
            print(json.dumps([printed.name, str(folder), argv, env]), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            return code, printed.read()

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def _warm() -> None:
    import snakemake.cli
    import snakemake.workflow  # noqa: F401

    from lextables import (  # noqa: F401
        console,
        fingerprint,
        given,
        last_words,
        leases,
        papers,
        rooms,
    )
    from lextables.caselaw import volumes  # noqa: F401
    from lextables.models import inspection  # noqa: F401
    from lextables.tables import published  # noqa: F401

    workflow = fingerprint.ROOT
    for path in [*workflow.glob("lextables/**/*.py"), *workflow.glob("scripts/*.py")]:
        inside = path.relative_to(workflow).parent.parts
        fingerprint._read(path.read_bytes(), ".".join(inside) if inside[0] == "lextables" else "")
        if inside[0] == "scripts":
            fingerprint._read(path.read_bytes(), "scripts")


def _run(printed: str, folder: str, argv: list[str], env: dict[str, str]) -> int:
    """Run one command line in a fork of this process and return its exit code."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70  # of an error in these lines
    try:
        out = os.open(printed, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
        for number, to in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out), (2, out)):
            os.dup2(to, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
        os.chdir(folder)
        os.environ.update(env)
        sys.argv = argv
        code = _main()
    finally:
        os._exit(code)


def _main() -> int:
    """What Python does around an entry point: an exit with words prints them, an error its traceback."""
    from snakemake.cli import main

    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    _warm()
    for line in sys.stdin:
        print(_run(*json.loads(line)), flush=True)
