"""Predict the test examples with multi-task models, under each view of the task."""

from lextables.models import device
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.classification.inference import read_views
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.settings import InferenceSettings, Reading
from lextables.tasks.job import Job


def run(job: Job) -> None:
    """Write the predictions for the test examples."""
    settings = InferenceSettings(**job.settings)
    where = device.pick(job.device)
    readings = settings.readings or [Reading(max_length=settings.max_length)]
    examples, _ = job.inputs["data"]
    with recorded(job.output("record"), settings.plain()) as record:
        record["device"] = device.describe(where)
        record["trained"] = [read_json(path) for path in job.inputs["weight_records"]]
        rows = read_views(
            readings,
            job.inputs["weights"],
            examples,
            job.task["test"],
            job.inputs["tokens"],
            where,
        )
        table = READINGS if settings.readings else PREDICTIONS
        write(table, rows, job.output("predictions"))
