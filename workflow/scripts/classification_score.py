"""Score one run on the test examples."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.classification.scoring import score
from lextables.tasks.classification.settings import ScoreSettings

with job(snakemake.log[0]):
    files = snakemake.input
    settings = ScoreSettings(**snakemake.params.task)
    (test,) = snakemake.params.splits
    predictions, examples, heads = map(read, (files.predictions, *files.data))
    rows, units = score(predictions, examples, heads, test, settings, files.census)
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
