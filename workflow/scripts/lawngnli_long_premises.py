"""The opinions of one shard that are premises, with their citations taken out (A.1.9)."""

import json
from pathlib import Path

from lextables.papers.lawngnli.long_premises import write_long_premises
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    cited = Path(snakemake.input.cited, f"{snakemake.wildcards.shard}.json")
    places = json.loads(cited.read_text(encoding="utf-8"))
    write_long_premises(places, snakemake.input.opinions, snakemake.output[0])
