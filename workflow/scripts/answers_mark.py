"""Say of every paragraph how likely people would mark it for each question, by its words at most."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers import baselines, collection
from lextables.tasks.answers.collection import MARKED

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings) as record,
):
    data = collection.load(snakemake.input.data, snakemake.params.names)
    marked = collection.marked_of(snakemake.input.highlights[0])
    probabilities = baselines.marks(
        data, marked, snakemake.params.settings, snakemake.threads
    )
    record["marks"] = write(
        MARKED,
        collection.marked_rows(data, probabilities),
        snakemake.output.predictions,
    )
