"""The opinions of one shard that are premises, with their citations taken out (A.1.9)."""

import json
from pathlib import Path

from lextables.job import job
from lextables.lawngnli.case_index import CaseIndex
from lextables.lawngnli.long_premises import write_long_premises
from lextables.lawngnli.majority_opinions import MajorityOpinions

with job(snakemake.log[0]):
    write_long_premises(
        json.loads(Path(snakemake.input.cited).read_text(encoding="utf-8")),
        snakemake.params.number,
        CaseIndex(snakemake.input.index),
        MajorityOpinions(snakemake.params.opinions),
        snakemake.output[0],
    )
