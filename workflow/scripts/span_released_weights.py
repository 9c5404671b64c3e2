"""Unpack one of the authors' fine-tuned models."""

from lextables.job import job
from lextables.models.released import unpack

with job(snakemake.log[0]) as log:
    log.info("unpacked %s", ", ".join(unpack(snakemake.input[0], snakemake.output[0])))
