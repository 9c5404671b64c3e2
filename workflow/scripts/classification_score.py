"""Score one run on the test examples."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.classification.scoring import score

with job(snakemake.log[0]):
    (test,) = snakemake.params.splits
    rows, units = score(
        read(snakemake.input.predictions),
        *map(read, snakemake.input.data),
        test,
        snakemake.params.task,
        snakemake.input.census,
    )
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
