"""How far a job is: a file beside its log, which `job` deletes at the end.

The logger plugin (`snakemake_logger_plugin_lextables`) reads it.
"""

import json
import time
from pathlib import Path

from lextables.pipeline.atomic import write_text

ENDING = ".progress.json"
INTERVAL = 2.0  # seconds between two writes


def progress_file(log: str | Path) -> Path:
    """Return the path of the progress of the job with this log, beside the log."""
    return Path(log).with_suffix(ENDING)


class Progress:
    """The share of a job's work that is done: ``total`` and the amounts have the same
    unit.
    """

    def __init__(self, log: str | Path, total: float) -> None:
        self.file = progress_file(log)
        self.total = total
        self.done = 0.0
        self._first = 0.0  # the first amount
        self._start: float | None = None  # time.monotonic after the first amount
        self._written = 0.0  # time.monotonic
        self.add(0.0)

    def add(self, amount: float) -> None:
        """Add to what is done, and write the share unless it was just written.

        With the seconds ``left`` at the pace of the last ``measured`` seconds.  They
        begin after the first amount: the time before it is spent on loading a model,
        or the first amount is what an earlier job did.
        """
        self.done += amount
        now = time.monotonic()
        if amount and self._start is None:
            self._start = now
            self._first = self.done
        if now - self._written < INTERVAL:
            return
        self._written = now
        share = min(1.0, self.done / self.total) if self.total else 0.0
        state = {"share": round(share, 4), "left": 0.0, "measured": 0.0}
        measured_amount = self.done - self._first
        if self._start is not None and measured_amount:
            seconds = now - self._start
            left = max(0.0, self.total - self.done) * seconds / measured_amount
            state |= {"left": round(left, 1), "measured": round(seconds, 1)}
        write_text(self.file, json.dumps(state) + "\n")
