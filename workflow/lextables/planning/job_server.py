"""Runs the scripts of rules without the time that imports take.

A server process imports the libraries of jobs once, and forks for each script.  Results
are those of new processes: a fork gets the files, the folder, the environment and the
number of threads of its job.

Snakemake has no interface for this.  It runs a script by the program in
`sys.executable`.  So `snakemake_interface.run_scripts_by` sets this to a small program,
which passes the job to the server and exits with the job's exit code.  For anything but
a script or a module of the package, the program starts Python itself.

The server is only for jobs on this machine that use no GPU: a process that uses a GPU
must not be forked.

`JobServer` starts the server by ``python -m lextables.planning.job_server <socket>``.
"""

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable
from importlib import import_module
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

# Libraries that jobs import.
LIBRARIES = (
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
# Parts of the package that jobs import.
PARTS = ("models", "pipeline", "sources", "tables", "tasks")
PACKAGE = "lextables"
FOLDER = f"{PACKAGE}-jobs-"  # the name of the program's folder begins with it
# The environment variable that Snakemake sets to the threads of a job.
THREADS = "OMP_NUM_THREADS"
FAILED = 70  # exit code of a job whose process ended without one
PAUSE = 0.02  # seconds between two looks for finished jobs
# The program in place of Python.  It sends the server its three standard files, then
# its folder, arguments and environment as a line of JSON, and waits for an exit code.
INTERPRETER = """#!{python} -IS
import json, os, socket, sys
is_module = sys.argv[1] == "-m" and sys.argv[2].startswith("{package}.")
if sys.argv[1].startswith("-") and not is_module:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b" "], [0, 1, 2])
server.sendall(json.dumps([os.getcwd(), sys.argv[1:], dict(os.environ)]).encode() + b"\\n")
sys.exit(int(server.recv(9) or {failed}))
"""


def has_job_server() -> bool:
    """Whether a server already runs the scripts of this process."""
    return Path(sys.executable).parent.name.startswith(FOLDER)


class JobServer:
    """A server process; ``interpreter`` is the program that passes jobs to it.

    ``modules`` is the folder of the package that the server imports.  A job whose
    package is in another folder imports that one.  The server ends with `close` or with
    this process.
    """

    def __init__(self, modules: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=FOLDER)
        address = f"{self._folder.name}/jobs"
        path = Path(self._folder.name, "python")
        text = INTERPRETER.format(
            python=sys.executable, address=address, package=PACKAGE, failed=FAILED
        )
        path.write_text(text, encoding="utf-8")
        path.chmod(0o700)
        self.interpreter = str(path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"{PACKAGE}.planning.job_server", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(modules), THREADS: "1"},
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it listens now; the imports follow
        atexit.register(self.close)

    def close(self) -> None:
        """End the server; jobs that still run continue."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
            self._process.wait()
            self._folder.cleanup()


def _serve(address: str) -> None:
    """Fork for each script or module that an `INTERPRETER` sends, until standard input
    is closed.

    ``address`` is the path of the socket.  An interpreter's connection stays open until
    its job has ended.
    """
    # A run ends its jobs itself (`lextables.pipeline.stopping`), and the server after
    # them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # The folders of libraries.  Each job puts the folder of its package before them.
    own = {"", str(Path.cwd()), *os.environ["PYTHONPATH"].split(":")}
    libraries = [part for part in sys.path if part not in own]
    running: dict[int, socket.socket] = {}  # {process of a job: its connection}
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen(64)
        print(flush=True)  # tells `JobServer` that the server listens
        since = time.time()
        _import_all()
        while True:
            waiting = [server, sys.stdin, *running.values()]
            ready = select.select(waiting, [], [], PAUSE if running else None)[0]
            if sys.stdin in ready:
                return
            for process, connection in running.items():
                if connection in ready:  # closed: the interpreter was ended
                    os.kill(process, signal.SIGTERM)
            if server in ready:
                connection = server.accept()[0]
                process = _fork_job(connection, libraries, running, since)
                running[process] = connection
            _report_finished(running)


def _report_finished(running: dict[int, socket.socket]) -> None:
    """Send the exit codes of finished jobs to their interpreters."""
    while running:
        process, status = os.waitpid(-1, os.WNOHANG)
        if not process:
            return
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            code = 128 - code  # a signal, as shells report it
        with running.pop(process) as connection, contextlib.suppress(OSError):
            connection.sendall(str(code).encode())


def _changed(since: float) -> bool:
    """Whether a module of the package was changed after the time ``since``."""
    folder = Path(str(sys.modules[PACKAGE].__file__)).parent
    modules = folder.rglob("*.py")
    return any(path.stat().st_mtime > since for path in modules)


def _fork_job(
    connection: socket.socket,
    libraries: list[str],
    running: dict[int, socket.socket],
    since: float,
) -> int:
    """Fork, and run there the script or module that a connection sends; return the
    fork's process id.

    The server imported the package at the time ``since``.  The job uses these imports
    only if a new process would import the same code.
    """
    files = socket.recv_fds(connection, 1, 3)[1]
    with connection.makefile("rb") as sent:
        folder, argv, env = json.loads(sent.readline())

    def main() -> None:
        """Run the script or module, as a new Python would."""
        for other in (connection, *running.values()):
            other.close()
        _set_threads(env.get(THREADS))
        modules = env.get("PYTHONPATH", "").split(":")
        sys.path[:] = [str(Path(argv[0]).parent), *filter(None, modules), *libraries]
        package = PathFinder.find_spec(PACKAGE)
        is_module = argv[0] == "-m"
        own = sys.modules[PACKAGE].__file__
        # `-m` must run a module from its start, even if the server has imported it.
        if is_module or package is None or package.origin != own or _changed(since):
            forget_package()
        if is_module:
            sys.argv = argv[1:]
            runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(argv[0], run_name="__main__")

    child = forked(main, files, folder, argv, env)
    for file in files:
        os.close(file)
    return child


def _set_threads(threads: str | None) -> None:
    """Let the libraries use as many threads as in a new process with this
    environment.
    """
    if not threads or not threads.isdecimal():
        return
    import pyarrow
    import torch
    from threadpoolctl import threadpool_limits

    threadpool_limits(int(threads))
    torch.set_num_threads(int(threads))
    pyarrow.set_cpu_count(int(threads))


def _import_all() -> None:
    """Import what jobs need: their libraries, and parts of the package."""
    for library in LIBRARIES:
        import_module(library)
    for part in PARTS:
        package = import_module(f"{PACKAGE}.{part}")
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    gc.freeze()


def forget_package() -> None:
    """Forget that the package was imported, so that later imports may find it in
    another folder.
    """
    for name in [*sys.modules]:
        if name.split(".")[0] == PACKAGE:
            del sys.modules[name]


def forked(
    main: Callable[[], Any],
    files: Iterable[int],
    folder: str,
    argv: list[str],
    env: dict[str, str],
) -> int:
    """Call ``main`` in a fork with these standard files; return the id of its
    process.
    """
    if child := os.fork():
        return child
    code = FAILED  # if the lines below fail
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
        sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w", 1), open(2, "w", 1)  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        sys.argv = argv
        gc.enable()
        code = _exit_code(main)
    finally:
        os._exit(code)


def _exit_code(main: Callable[[], Any]) -> int:
    """Call ``main`` as Python does and return its exit code; print exit messages and
    tracebacks.
    """
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
    # A search for garbage in a fork would take half a second and copy all pages of
    # the server, so forks search only what they make themselves.
    gc.disable()
    _serve(sys.argv[1])
