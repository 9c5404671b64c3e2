"""Predict the test examples with a linear baseline, under each view of the task."""

import logging

from lextables.pipeline.dataset import write
from lextables.pipeline.files import JsonObject, read_json
from lextables.pipeline.run import recorded
from lextables.tasks.classification.linear import LinearFiles, read_views
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.settings import LinearSettings
from lextables.tasks.job import Job

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Write the predictions for the test examples.

    The record counts the heads that have no model, by condition.
    """
    settings = LinearSettings(**job.settings)
    with recorded(job.output("record"), settings.plain()) as record:
        record["trained"] = [read_json(path) for path in job.inputs["weight_records"]]
        left_out: JsonObject = {}
        record["heads_left_out"] = left_out
        data = LinearFiles(*job.inputs["data"], *job.inputs["vectors"])
        rows = read_views(
            data, job.task["test"], settings, job.inputs["weights"], left_out
        )
        table = READINGS if settings.readings else PREDICTIONS
        write(table, rows, job.output("predictions"))
        _log.info("read: %s", record)
