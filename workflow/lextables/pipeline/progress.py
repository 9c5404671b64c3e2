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
        self._written = 0.0  # time.monotonic
        self.add(0.0)

    def add(self, amount: float) -> None:
        """Add to what is done, and write the share unless it was just written."""
        self.done += amount
        now = time.monotonic()
        if now - self._written < INTERVAL:
            return
        self._written = now
        share = min(1.0, self.done / self.total) if self.total else 0.0
        write_text(self.file, json.dumps({"share": round(share, 4)}) + "\n")
