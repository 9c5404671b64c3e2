"""Score one run on the test examples."""

from lextables.dataset import read, write
from lextables.job import job
from lextables.run import SCORES
from lextables.tasks.classification.scoring import score
from lextables.units import UNITS

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
