"""Check submitted predictions against the data set, and store them as those of a
run.
"""

import logging
from importlib import import_module
from pathlib import Path

from lextables.tasks.job import Job
from lextables.tasks.submitted import store

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Read the file with the reader of the kind of task."""
    reader = import_module(f"lextables.tasks.{job.part}.submitted")
    folder = Path(job.output("predictions")).parent
    stored = store(reader, job.settings, job.inputs["data"], job.task, folder)
    _log.info(
        "%s: %d rows; %d predictions of other splits skipped",
        stored["file"],
        stored["rows"],
        stored["skipped"],
    )
