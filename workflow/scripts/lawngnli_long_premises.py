"""Write the opinions of one shard that are premises, with and without their citations
(A.1.9).

Rule `lawngnli_long_premises` (lawngnli.smk).
"""

from pathlib import Path

from lextables.papers.lawngnli.premises.long_premises import write_long_premises
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    cited = Path(snakemake.input.cited, f"{snakemake.wildcards.shard}.json")
    # Pairs of a row of the shard's opinions and the case in it (lawngnli_cited.py).
    places = read_json(cited, list[list[int]])
    write_long_premises(places, snakemake.input.opinions, snakemake.output[0])
