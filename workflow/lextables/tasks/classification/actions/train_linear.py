"""Train a linear baseline on the final splits and keep its weights."""

import logging

from lextables.pipeline.run import recorded
from lextables.tasks.classification.linear import LinearFiles, train
from lextables.tasks.classification.settings import LinearSettings
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Train on the final splits."""
    settings = LinearSettings(**job.settings)
    with recorded(job.output("record"), settings.plain()) as record:
        data = LinearFiles(*job.inputs["data"], *job.inputs["vectors"])
        final = job.task["final"]
        record |= train(data, final, settings, job.threads, job.output("weights"))
        _log.info("trained: %s", record)
