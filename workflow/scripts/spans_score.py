"""Score the spans of one run on the test contracts."""

from lextables.dataset import read, write
from lextables.job import job
from lextables.metrics.spans import scores
from lextables.run import SCORES

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    asked = [row for row in read(questions) if row["split"] == "test"]
    found = scores(
        read(snakemake.input.predictions),
        asked,
        read(answers),
        relaxed=snakemake.params.relaxed,
        low_thresholds=snakemake.params.low_thresholds,
    )
    write(SCORES, found, snakemake.output[0])
