"""Score one run on the test examples."""

from lextables.dataset import read, write
from lextables.job import job
from lextables.run import SCORES
from lextables.tasks.classification.scoring import score

with job(snakemake.log[0]):
    (test,) = snakemake.params.splits
    rows = score(
        read(snakemake.input.predictions),
        *map(read, snakemake.input.data),
        test,
        snakemake.params.task,
        snakemake.input.census,
    )
    write(SCORES, rows, snakemake.output[0])
