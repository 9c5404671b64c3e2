"""Write the index of all cases by citation and by parties.

Rule `lawngnli_index` (lawngnli.smk).  The inputs are the opinions of all shards, and
the output is a folder.
"""

from lextables.papers.lawngnli.citations.case_index import build_case_index
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    log.info("%s", build_case_index(snakemake.input, snakemake.output[0]))
