"""Score the spans of one run on the test contracts."""

from lextables.metrics.spans import gold, nbest_rows, scores
from lextables.metrics.spans_by_contract import by_contract
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    asked, answers = (
        [row for row in read(questions) if row["split"] == "test"],
        list(read(answers)),
    )
    predictions = nbest_rows(read(snakemake.input.predictions))
    options = {
        "relaxed": snakemake.params.relaxed,
        "low_thresholds": snakemake.params.low_thresholds,
    }
    write(
        SCORES, scores(predictions, asked, answers, **options), snakemake.output.scores
    )
    write(
        UNITS,
        by_contract(predictions, gold(asked, answers), **options),
        snakemake.output.units,
    )
