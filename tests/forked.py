"""Runs Snakemake command lines without the seconds that it takes to import Snakemake and to parse our code.

A server process imports both once and forks for each command line.  The fork runs Snakemake's own entry point
with the real Snakefile, profiles and package.  The server is a separate process because a process with
threads, such as a test worker, should not be forked.
"""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
OURS = ("--snakefile", ROOT / "Snakefile")
PIPELINE = (*OURS, "--workflow-profile", ROOT / "profiles/default", "--cores", 2)


class Run(NamedTuple):
    """The exit code of a command line, and all that it printed."""

    code: int
    output: str


class Server:
    """Runs command lines one after the other; close it after use.

    With ``package`` it has imported lextables too.  A command line in a copy of the project with other code
    needs a server without it.
    """

    def __init__(self, package: bool = True) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "forked", *(["package"] if package else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{ROOT / 'workflow'}:{ROOT / 'tests'}"},
        )

    def __call__(self, folder: Path, words: Iterable[str | Path], env: dict[str, str] | None = None) -> Run:
        """Return how ``snakemake <words>`` ends in ``folder``; ``env`` are more variables."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            line = json.dumps([output.name, str(folder), ["snakemake", *map(str, words)], env or {}])
            print(line, file=self._process.stdin, flush=True)
            return Run(int(self._process.stdout.readline()), output.read())

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()


def snakemake(folder: Path, *words: str | Path, package: bool = True, **env: str) -> Run:
    """Run ``snakemake <words>`` in ``folder`` by the server of this process; ``env`` are more variables."""
    return _server(package)(folder, words, env)


def pipeline(folder: Path, *words: str | Path) -> Run:
    """Run this project's pipeline with its results in ``folder``."""
    return snakemake(folder, *PIPELINE, "--directory", folder, *words)


@cache
def _server(package: bool) -> Server:
    server = Server(package)
    atexit.register(server.close)
    return server


def _warm(package: bool) -> None:
    import pyarrow  # noqa: F401
    import pydantic  # noqa: F401
    import snakemake.cli
    import snakemake.workflow  # noqa: F401

    if not package:
        return

    from lextables.corpora.caselaw import volumes  # noqa: F401
    from lextables.models import inspection  # noqa: F401
    from lextables.papers import submitted  # noqa: F401
    from lextables.pipeline import fingerprint
    from lextables.tables import published  # noqa: F401

    workflow = fingerprint.ROOT
    for path in [*workflow.glob("lextables/**/*.py"), *workflow.glob("scripts/*.py")]:
        inside = path.relative_to(workflow).parent.parts
        fingerprint._read(path.read_bytes(), ".".join(inside) if inside[0] == "lextables" else "")
        if inside[0] == "scripts":
            fingerprint._read(path.read_bytes(), "scripts")


def _run(printed: str, folder: str, argv: list[str], env: dict[str, str]) -> int:
    """Run one command line in a fork of this process, with its output in the file ``printed``."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70  # of an error in these lines
    try:
        file = os.open(printed, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
        for number, to in enumerate([os.open(os.devnull, os.O_RDONLY), file, file]):
            os.dup2(to, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115
        os.chdir(folder)
        os.environ.update(env)
        sys.argv = argv
        code = _main()
    finally:
        os._exit(code)


def _main() -> int:
    """Call the entry point as Python does: print the message of an exit, and the traceback of an error."""
    from snakemake.cli import main

    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return code


if __name__ == "__main__":
    _warm("package" in sys.argv)
    for line in sys.stdin:
        print(_run(*json.loads(line)), flush=True)
