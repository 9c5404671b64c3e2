"""What the papers printed, as one tidy csv with its card and metadata."""

from pathlib import Path

from lextables.pipeline.job import job
from lextables.publish.printed import gather, write

with job(snakemake.log[0]):
    write(gather(snakemake.input.published, snakemake.input.papers), Path(snakemake.output[0]).parent)
