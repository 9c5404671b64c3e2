"""Runs Snakemake command lines and their jobs without the time that imports take.

A server process imports Snakemake and lextables once and forks for each command line.
The fork runs Snakemake's entry point with the real Snakefile, profiles and package.
Its jobs run in forks of a `lextables.planning.job_server`, and so does each check of a
model's folder.  Servers are separate processes because a process with threads, such as
a test worker, should not be forked.
"""

import atexit
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import psutil

from lextables.planning.job_server import JobServer, forget_package, forked

ROOT = Path(__file__).parents[2]
# Arguments that select this project's Snakefile, and its profile too.
OURS = ("--snakefile", ROOT / "Snakefile")
PIPELINE = (*OURS, "--workflow-profile", ROOT / "profiles/default", "--cores", 2)
# Libraries that plans and jobs import.
PLANS = (
    "filelock",
    "huggingface_hub",
    "nbformat.v4",
    "nltk",
    "pyarrow.parquet",
    "pydantic",
    "pytrec_eval",
    "requests",
    "scipy.sparse",
    "smart_open",
    "snakemake.notebook",
    "snakemake.profiles",
    "snakemake.workflow",
    "tqdm",
    "yte",
)
# With it, torch's MKL adds in the same order on processors of all makers, so that the
# stored values are equal.
ENVIRONMENT = {"MKL_CBWR": "COMPATIBLE"}
# Environment variable with the path of the interpreter of a job server.
PATH_NAME = "LEXTABLES_TEST_INTERPRETER"


class Run(NamedTuple):
    """Exit code and complete output of a command line."""

    code: int
    output: str


class Server:
    """Runs command lines one after another in forks of ``process``; close it after use.

    The server imports the package of ``project``, or none.  A copy of the project with
    other modules needs a server of its own; for one with other registries, that of this
    project is enough.
    """

    def __init__(self, project: Path | None = ROOT) -> None:
        self.process = _started(str(project or ""), interpreter(), project or ROOT)

    def __call__(
        self,
        folder: Path,
        words: Iterable[str | Path],
        env: dict[str, str] | None = None,
    ) -> Run:
        """Run ``snakemake <words>`` in ``folder``; ``env`` has additional environment
        variables.
        """
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            line = json.dumps(
                [output.name, str(folder), ["snakemake", *map(str, words)], env or {}]
            )
            print(line, file=self.process.stdin, flush=True)
            return Run(int(self.process.stdout.readline()), output.read())

    def processor_seconds(self) -> tuple[float, float]:
        """Return the processor time of the start (imports), and that of all command
        lines so far.
        """
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system, times.children_user + times.children_system

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def snakemake(
    folder: Path, *words: str | Path, project: Path | None = ROOT, **env: str
) -> Run:
    """Run ``snakemake <words>`` in ``folder`` with this process's server of
    ``project``; see `Server`.
    """
    return server(project)(folder, words, env)


def pipeline(folder: Path, *words: str | Path) -> Run:
    """Run this project's pipeline with its results in ``folder``."""
    return snakemake(folder, *PIPELINE, "--directory", folder, *words)


@cache
def server(project: Path | None) -> Server:
    """Return the server of this process that has imported the package of ``project``;
    it is started once.
    """
    started = Server(project)
    atexit.register(started.close)
    return started


@cache
def interpreter() -> str:
    """Start a job server, which ends with this process; return the path of its
    interpreter.

    A process whose environment has the path of another process's server uses that one.
    """
    if PATH_NAME in os.environ:
        return os.environ[PATH_NAME]
    return JobServer(ROOT / "workflow").interpreter


def _started(package: str, interpreter: str, project: Path) -> subprocess.Popen:
    """Start a server: run this module as a program that finds the package of
    ``project``.
    """
    return subprocess.Popen(
        [sys.executable, "-m", "helpers.forked", package, interpreter],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            **ENVIRONMENT,
            "PYTHONPATH": f"{project / 'workflow'}:{ROOT / 'tests'}",
        },
    )


def _warm(project: Path | None) -> None:
    """Import what a command line needs: Snakemake, libraries, and the package of
    ``project``.
    """
    from snakemake.cli import get_argument_parser

    get_argument_parser()  # imports Snakemake's plugins
    for library in PLANS:
        import_module(library)
    if project is None:
        return

    from lextables.papers.lawngnli import construction  # noqa: F401
    from lextables.pipeline import fingerprint
    from lextables.registry import packages
    from lextables.review import reviewer  # noqa: F401

    workflow = project / "workflow"
    for path in workflow.glob("lextables/planning/*.py"):
        import_module(f"lextables.planning.{path.stem}")
    for path in project.glob("resources/papers/*.yaml"):
        packages.load(path)
    modules = []
    for path in workflow.glob("lextables/**/[!_]*.py"):
        modules.append(".".join(path.relative_to(workflow).with_suffix("").parts))
    # One call, because each reads all modules; their parsed code is kept for later
    # fingerprints.
    fingerprint.fingerprint(*map(str, workflow.glob("scripts/*.py")), *modules)


def _run(
    interpreter: str, printed: str, folder: str, argv: list[str], env: dict[str, str]
) -> int:
    """Run one command line in a fork of this process; its output is written to the file
    ``printed``.
    """
    file = os.open(printed, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    files = (os.open(os.devnull, os.O_RDONLY), file, file)

    def run_snakemake() -> None:
        from snakemake.cli import main

        sys.executable = interpreter  # Snakemake starts jobs with it
        main()

    child = forked(run_snakemake, files, folder, argv, os.environ | env)
    for opened in set(files):
        os.close(opened)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    package, path = sys.argv[1:]
    # A search for garbage in a fork would take half a second and copy all pages of
    # the server, so forks search only what they make themselves.
    gc.disable()
    _warm(Path(package) if package else None)
    if not package:
        forget_package()  # a copy of the project imports its own
    gc.freeze()
    for line in sys.stdin:
        print(_run(path, *json.loads(line)), flush=True)
