"""Predict the test examples with multi-task models, under each view of the task."""

from lextables.models import device
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.reading import read_views
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.settings import InferenceSettings, Reading

with job(snakemake.log[0]):
    files = snakemake.input
    settings = InferenceSettings(**snakemake.params.settings)
    where = device.pick(snakemake.params.device)
    readings = settings.readings or [Reading(max_length=settings.max_length)]
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["device"] = device.describe(where)
        record["trained"] = [read_json(path) for path in files.source_records]
        (test,) = snakemake.params.splits
        rows = read_views(
            readings, files.weights, files.data[0], test, files.tokens, where
        )
        table = READINGS if settings.readings else PREDICTIONS
        write(table, rows, snakemake.output.predictions)
