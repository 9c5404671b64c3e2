"""The cases whose majority opinions are premises, over all shards."""

import json

from lextables.atomic import write_text
from lextables.job import job
from lextables.lawngnli.cited_cases import cited_cases

with job(snakemake.log[0]):
    cases = cited_cases(snakemake.input.contradictions, snakemake.input.parentheticals)
    write_text(snakemake.output[0], json.dumps(sorted(cases)) + "\n")
