"""Parentheticals that resolve to a case of the corpus, for one shard of opinions (A.1.1)."""

import json
from dataclasses import asdict
from pathlib import Path

from lextables.atomic import write_text
from lextables.job import job
from lextables.lawngnli.case_index import CaseIndex
from lextables.lawngnli.citations import tokenizer
from lextables.lawngnli.entail_examples import write_candidates

with job(snakemake.log[0]):
    # Compiled patterns belong to this machine and not to the results.
    tokens = tokenizer(Path.home() / ".cache/lextables")
    output = snakemake.output
    outcome = write_candidates(
        snakemake.input.opinions, CaseIndex(snakemake.input.index), tokens, output.candidates, output.cites
    )
    write_text(output.counts, json.dumps(asdict(outcome), indent=1, ensure_ascii=False) + "\n")
