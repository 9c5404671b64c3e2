"""End a run at Ctrl-C or SIGTERM: one sentence, no traceback, and no process left.

A terminal sends Ctrl-C to all processes of a run.  Jobs ignore it (`PREFIX`), so none
of them prints a traceback, not even while it imports modules, and the run ends them.

The handler of a signal only puts its number in a queue: a thread does the rest, because
a handler may interrupt the main thread while it holds a lock.  Only at Ctrl-C of a run
on a cluster does the handler end the main thread: Snakemake then cancels its jobs.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from types import FrameType

import psutil

PREFIX = "set -euo pipefail; trap '' INT; exec "  # of a job's command; the first part is Snakemake's own
STOPPED = "Stopped.  Finished work is kept, and the same command continues from there."
GRACE = 10.0  # seconds between SIGTERM and SIGKILL for a job
PAUSE = 0.1  # seconds between two looks for jobs
# Seconds that a handler waits for the announcement.  It does not wait longer, because
# the announcement may need a lock that the interrupted main thread holds.
ANNOUNCE_LIMIT = 1.0


class Stopping:
    """Handles Ctrl-C and SIGTERM from its creation on.

    A signal that is ignored, such as Ctrl-C in the background of a shell, stays
    ignored.  A repeated signal is ignored, too.  ``announce`` is called with the first
    signal, before jobs are ended.  ``remote`` tells whether jobs run on a cluster,
    where only Snakemake can end them.
    """

    def __init__(self, announce: Callable[[int], None], remote: bool) -> None:
        """Install the handlers of both signals."""
        self._announce = announce
        self._remote = remote
        # Snakemake's own handler of SIGTERM; None before `jobs_start`.
        self._start_no_more: Callable[[int, FrameType | None], None] | None = None
        self._signals: SimpleQueue[int] = SimpleQueue()
        self._seen: set[int] = set()
        self._announced = threading.Event()
        threading.Thread(target=self._obey, daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._received)

    def jobs_start(self) -> None:
        """Keep Snakemake's handler of SIGTERM, which starts no more jobs and waits for
        the others, and handle SIGTERM here again.

        Called in `onstart`, when Snakemake has installed its handler.
        """
        handler = signal.getsignal(signal.SIGTERM)
        if callable(handler):
            self._start_no_more = handler
        signal.signal(signal.SIGTERM, self._received)

    def _received(self, number: int, frame: FrameType | None) -> None:
        """Pass the number of a signal to the thread; at Ctrl-C also end a run whose
        jobs are on a cluster.
        """
        if number in self._seen:
            return
        self._seen.add(number)
        self._signals.put(number)
        if self._start_no_more is None:
            # Before jobs start the thread ends the process.  Waiting here lets it do so
            # even if the main thread is in a library that keeps the interpreter.
            self._announced.wait(ANNOUNCE_LIMIT)
        if number == signal.SIGINT and self._remote and self._start_no_more:
            self._announced.wait(ANNOUNCE_LIMIT)
            end_jobs({})  # local jobs, and commands that submit or watch remote ones
            sys.exit(STOPPED)  # Snakemake then cancels the jobs on the cluster

    def _obey(self) -> None:
        """Handle the signals in the queue, in a thread of its own.

        Before jobs start, a signal ends the process.  Later only the first one is
        announced: when a second one comes, the run may already have written its last
        lines.  After any signal no more jobs start; at Ctrl-C those of this machine are
        ended.
        """
        while True:
            number = self._signals.get()
            # Before `jobs_start` there are no jobs, except with Snakemake's option
            # --no-hooks, which never calls it: end everything at once.
            if self._start_no_more is None:
                end_jobs({})
                print(STOPPED, file=sys.stderr, flush=True)
                os._exit(128 + number)
            if not self._announced.is_set():
                self._announce(number)
            self._start_no_more(number, None)
            self._announced.set()
            if number == signal.SIGINT and not self._remote:
                self._end_all_jobs()

    def _end_all_jobs(self) -> None:
        """End jobs until this process ends: one of them may be starting."""
        ended: dict[psutil.Process, float] = {}
        while True:
            end_jobs(ended)
            time.sleep(PAUSE)


def end_jobs(ended: dict[psutil.Process, float]) -> None:
    """Terminate the children of this process; kill them if they still run after
    `GRACE`.

    ``ended`` are the children that were terminated before, and when; new ones are
    added.
    """
    now = time.monotonic()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process not in ended:
                ended[process] = now
                process.terminate()
            elif now - ended[process] > GRACE:
                process.kill()
