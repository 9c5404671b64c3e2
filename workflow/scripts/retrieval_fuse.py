"""Rank the documents of every query by the mean of several systems' standardised scores."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, scored
from lextables.tasks.retrieval.lexical import fuse

with job(snakemake.log[0]):
    settings = snakemake.params.settings
    with recorded(snakemake.output.record, settings):
        hits = fuse(
            [scored(path) for path in snakemake.input],
            settings["shares"],
            settings["top"],
        )
        write(PREDICTIONS, prediction_rows(hits), snakemake.output.predictions)
