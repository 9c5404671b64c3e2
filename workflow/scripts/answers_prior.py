"""Answer every question about every document without reading one."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers import baselines, collection
from lextables.tasks.answers.collection import PREDICTIONS

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings) as record,
):
    data = collection.load(snakemake.input, snakemake.params.names)
    found = baselines.uninformed_answers(data.shares, snakemake.params.settings)
    record["pairs"] = write(
        PREDICTIONS, collection.prediction_rows(found), snakemake.output.predictions
    )
