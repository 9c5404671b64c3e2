"""Predict the test examples with a linear baseline, under each view of the task."""

from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.linear import LinearFiles, read_views
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.settings import LinearSettings

with job(snakemake.log[0]) as log:
    files = snakemake.input
    settings = LinearSettings(**snakemake.params.settings)
    (test,) = snakemake.params.splits
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["trained"] = [read_json(path) for path in files.source_records]
        record["heads_left_out"] = left_out = {}
        data = LinearFiles(*files.data, *files.vectors)
        rows = read_views(data, test, settings, files.weights, left_out)
        table = READINGS if settings.readings else PREDICTIONS
        write(table, rows, snakemake.output.predictions)
        log.info("read: %s", record)
