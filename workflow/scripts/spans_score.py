"""Score the spans of one run on the test contracts."""

from lextables.metrics.spans import gold, nbest_rows, scores
from lextables.metrics.spans_by_contract import by_contract
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    asked, given = [row for row in read(questions) if row["split"] == "test"], list(read(answers))
    found = nbest_rows(read(snakemake.input.predictions))
    told = {
        "relaxed": snakemake.params.relaxed,
        "low_thresholds": snakemake.params.low_thresholds,
    }
    write(SCORES, scores(found, asked, given, **told), snakemake.output.scores)
    write(UNITS, by_contract(found, gold(asked, given), **told), snakemake.output.units)
