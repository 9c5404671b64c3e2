"""Write the index of all cases by citation and by parties."""

from lextables.papers.lawngnli.citations.case_index import build_case_index
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    log.info("%s", build_case_index(snakemake.input, snakemake.output[0]))
