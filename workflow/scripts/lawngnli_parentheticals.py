"""Short premises and accuracy filters for one shard of candidates (A.1.1, A.1.2)."""

import json
from dataclasses import asdict

from lextables.atomic import write_text
from lextables.job import job
from lextables.lawngnli.accuracy import tokens_of
from lextables.lawngnli.case_index import CaseIndex
from lextables.lawngnli.entail_examples import write_parentheticals
from lextables.lawngnli.premises import MajorityOpinions

with job(snakemake.log[0]):
    outcome = write_parentheticals(
        snakemake.input.candidates,
        CaseIndex(snakemake.input.index),
        MajorityOpinions(snakemake.params.opinions),
        tokens_of(),
        snakemake.output.parentheticals,
    )
    write_text(snakemake.output.counts, json.dumps(asdict(outcome), indent=1, ensure_ascii=False) + "\n")
