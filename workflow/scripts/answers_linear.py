"""Learn from the words of other documents' best paragraphs, and answer every question about each document."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers import baselines, collection
from lextables.tasks.answers.collection import PREDICTIONS, of_words

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings) as record,
):
    data = collection.load(snakemake.input, snakemake.params.names)
    words = of_words(data)
    found, record["penalties"] = baselines.linear_answers(
        words, data.shares, snakemake.params.settings, snakemake.threads
    )
    record["pairs"] = write(
        PREDICTIONS, collection.prediction_rows(found), snakemake.output.predictions
    )
