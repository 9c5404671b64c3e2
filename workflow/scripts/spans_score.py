"""Score the spans or the text outputs of one run on the test contracts."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.spans.scoring import score

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    params = snakemake.params
    rows, units = score(
        snakemake.input.predictions,
        questions,
        answers,
        params.evaluator,
        params.settings,
    )
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
