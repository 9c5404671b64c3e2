"""Runs Snakemake command lines and their jobs without the time that imports take.

A server process imports Snakemake and lextables once and forks for each command line.  The fork runs
Snakemake's entry point with the real Snakefile, profiles and package.  A second server imports the libraries
of jobs, and forks for each script of a rule and each check of a model's folder.  Servers are separate
processes because a process with threads, such as a test worker, should not be forked.
"""

import atexit
import gc
import json
import os
import pkgutil
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

import psutil

ROOT = Path(__file__).parents[1]
OURS = ("--snakefile", ROOT / "Snakefile")
PIPELINE = (*OURS, "--workflow-profile", ROOT / "profiles/default", "--cores", 2)
# Libraries that plans and jobs import.
PLANS = (
    "filelock",
    "huggingface_hub",
    "nbformat.v4",
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
JOBS = (
    "eyecite",
    "faiss",
    "google.protobuf",
    "lxml.html",
    "matplotlib.figure",
    "nltk",
    "openpyxl",
    "orjson",
    "pandas",
    "pyarrow.parquet",
    "pytrec_eval",
    "sentence_transformers",
    "sentencepiece",
    "spacy",
    "sklearn.decomposition",
    "sklearn.ensemble",
    "sklearn.feature_extraction.text",
    "sklearn.linear_model",
    "snakemake.script",
    "statsmodels.stats.proportion",
    "transformers.models.bert.modeling_bert",
    "transformers.models.auto.modeling_auto",
    "transformers.trainer",
)
# Parts of the package that jobs import.  A job of a copy of the project imports its own.
PARTS = ("models", "pipeline", "sources", "tables", "tasks")
# Environment variable of the path of an `INTERPRETER`.
PATH_NAME = "LEXTABLES_TEST_INTERPRETER"
# Replaces the Python interpreter of Snakemake's scripts and of lextables' modules: it passes its files, folder
# and environment to the job server, and exits with the exit code of the job.
INTERPRETER = """#!{python} -IS
import json, os, socket, sys
is_module = sys.argv[1] == "-m" and sys.argv[2].startswith("lextables.")
if sys.argv[1].startswith("-") and not is_module:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b" "], [0, 1, 2])
server.sendall(json.dumps([os.getcwd(), sys.argv[1:], dict(os.environ)]).encode())
server.shutdown(socket.SHUT_WR)
sys.exit(int(server.recv(9) or 70))
"""


class Run(NamedTuple):
    """Exit code and complete output of a command line."""

    code: int
    output: str


class Server:
    """Runs command lines one after another in forks of ``process``; close it after use.

    The server imports the package of ``project``, or none.  A copy of the project with other modules needs
    a server of its own; for one with other registries, that of this project is enough.
    """

    def __init__(self, project: Path | None = ROOT) -> None:
        self.process = _started(str(project or ""), interpreter(), project or ROOT)

    def __call__(
        self,
        folder: Path,
        words: Iterable[str | Path],
        env: dict[str, str] | None = None,
    ) -> Run:
        """Run ``snakemake <words>`` in ``folder``; ``env`` has additional environment variables."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8") as output:
            line = json.dumps(
                [output.name, str(folder), ["snakemake", *map(str, words)], env or {}]
            )
            print(line, file=self.process.stdin, flush=True)
            return Run(int(self.process.stdout.readline()), output.read())

    def processor_seconds(self) -> tuple[float, float]:
        """Return the processor time of the start (imports), and that of all command lines so far."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system, times.children_user + times.children_system

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def snakemake(
    folder: Path, *words: str | Path, project: Path | None = ROOT, **env: str
) -> Run:
    """Run ``snakemake <words>`` in ``folder`` with this process's server of ``project``; see `Server`."""
    return server(project)(folder, words, env)


def pipeline(folder: Path, *words: str | Path) -> Run:
    """Run this project's pipeline with its results in ``folder``."""
    return snakemake(folder, *PIPELINE, "--directory", folder, *words)


@cache
def server(project: Path | None) -> Server:
    """Return the server of this process that has imported the package of ``project``; it is started once."""
    started = Server(project)
    atexit.register(started.close)
    return started


@cache
def interpreter() -> str:
    """Start a job server, which ends with this process; return the path of its `INTERPRETER`.

    A process whose environment has the path of another process's server uses that one.
    """
    if PATH_NAME in os.environ:
        return os.environ[PATH_NAME]
    folder = tempfile.TemporaryDirectory()
    address = f"{folder.name}/jobs"
    path = Path(folder.name, "python")
    path.write_text(
        INTERPRETER.format(python=sys.executable, address=address), encoding="utf-8"
    )
    path.chmod(0o700)
    server = _started("jobs", address)
    server.stdout.readline()  # wait until the server listens

    def close() -> None:
        server.stdin.close()
        server.wait()
        folder.cleanup()

    atexit.register(close)
    return str(path)


def _started(kind: str, address: str, project: Path = ROOT) -> subprocess.Popen:
    """Start a server: run this module as a program that finds the package of ``project``."""
    return subprocess.Popen(
        [sys.executable, "-m", "forked", kind, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{project / 'workflow'}:{ROOT / 'tests'}"},
    )


def _warm(project: Path | None) -> None:
    from snakemake.cli import get_argument_parser

    get_argument_parser()  # imports Snakemake's plugins
    for library in PLANS:
        import_module(library)
    if project is None:
        return

    from lextables.papers import packages
    from lextables.papers.cuad import reviewer  # noqa: F401
    from lextables.papers.lawngnli import plan  # noqa: F401
    from lextables.pipeline import fingerprint

    workflow = project / "workflow"
    for path in workflow.glob("lextables/planning/*.py"):
        import_module(f"lextables.planning.{path.stem}")
    for path in project.glob("resources/papers/*.yaml"):
        packages.load(path)
    modules = []
    for path in workflow.glob("lextables/**/[!_]*.py"):
        modules.append(".".join(path.relative_to(workflow).with_suffix("").parts))
    # One call, because each reads all modules; their parsed code is kept for later fingerprints.
    fingerprint.fingerprint(*map(str, workflow.glob("scripts/*.py")), *modules)


def _run(
    interpreter: str, printed: str, folder: str, argv: list[str], env: dict[str, str]
) -> int:
    """Run one command line in a fork of this process; its output is written to the file ``printed``."""
    file = os.open(printed, os.O_WRONLY | os.O_TRUNC | os.O_APPEND)
    files = (os.open(os.devnull, os.O_RDONLY), file, file)

    def main() -> None:
        from snakemake.cli import main

        sys.executable = interpreter
        main()

    child = _forked(main, files, folder, argv, os.environ | env)
    for opened in set(files):
        os.close(opened)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _serve_jobs(address: str) -> None:
    """Fork for each script or module that an `INTERPRETER` sends, until standard input is closed."""
    own = {"", str(Path.cwd()), *os.environ["PYTHONPATH"].split(":")}
    libraries = [part for part in sys.path if part not in own]
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        print(flush=True)
        while server in select.select([server, sys.stdin], [], [])[0]:
            connection, _ = server.accept()
            with connection:
                _fork_job(connection, libraries)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _fork_job(connection: socket.socket, libraries: list[str]) -> None:
    """Run what a connection sends in a fork, which sends back its exit code."""
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    with connection.makefile("rb") as sent:
        folder, argv, env = json.load(sent)
    os.environ.update(env)  # some libraries read variables when they are imported
    _import_for_jobs()

    def main() -> None:
        modules = env.get("PYTHONPATH", "").split(":")
        sys.path[:] = [str(Path(argv[0]).parent), *filter(None, modules), *libraries]
        package = PathFinder.find_spec("lextables")
        if argv[0] == "-m" or package.origin != sys.modules["lextables"].__file__:
            _forget_package()
        if argv[0] == "-m":
            sys.argv = argv[1:]
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(argv[0], run_name="__main__")

    _forked(
        main, files, folder, argv, env, lambda code: connection.send(str(code).encode())
    )
    for file in files:
        os.close(file)


@cache
def _import_for_jobs() -> None:
    """Import what jobs need: their libraries, and parts of the package."""
    for library in JOBS:
        import_module(library)
    for part in PARTS:
        package = import_module(f"lextables.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    gc.freeze()


def _forget_package() -> None:
    """Let later imports find the package in another folder."""
    for name in [*sys.modules]:
        if name.split(".")[0] == "lextables":
            del sys.modules[name]


def _forked(
    main: Callable[[], None],
    files: Iterable[int],
    folder: str,
    argv: list[str],
    env: dict[str, str],
    end: Callable[[int], object] = lambda code: None,
) -> int:
    """Call ``main`` in a fork with these standard files, then call ``end`` with its exit code.

    Returns the process id of the fork.
    """
    if child := os.fork():
        return child
    code = 70  # exit code if the lines below fail
    try:
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = argv
        gc.enable()
        code = _exit_code(main)
        end(code)
    finally:
        os._exit(code)


def _exit_code(main: Callable[[], None]) -> int:
    """Call ``main`` as Python does and return its exit code; print exit messages and tracebacks."""
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
    kind, path = sys.argv[1:]
    # A search for garbage in a fork would take half a second and copy all pages of
    # the server, so forks search only what they make themselves.
    gc.disable()
    if kind == "jobs":
        _serve_jobs(path)
    else:
        _warm(Path(kind) if kind else None)
        gc.freeze()
        for line in sys.stdin:
            print(_run(path, *json.loads(line)), flush=True)
