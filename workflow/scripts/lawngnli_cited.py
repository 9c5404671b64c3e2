"""For each shard, write the cases whose majority opinions are premises, as places in
the shard's file of opinions.

Rule `lawngnli_cited` (lawngnli.smk).  ``contradictions`` and ``parentheticals`` have a
file for each shard.  The output is a folder with `<shard>.json`: the sorted pairs of a
row of the shard's opinions and the case in it.
"""

import json
from pathlib import Path

from lextables.papers.lawngnli.citations.case_index import CaseIndex
from lextables.papers.lawngnli.premises.long_premises import by_shard, cited_cases
from lextables.pipeline.files import write_result
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    cases = cited_cases(snakemake.input.contradictions, snakemake.input.parentheticals)
    index = CaseIndex(snakemake.input.index)
    for shard, places in zip(index.shards, by_shard(cases, index), strict=True):
        write_result(
            Path(snakemake.output[0], f"{Path(shard).stem}.json"),
            json.dumps(places) + "\n",
        )
