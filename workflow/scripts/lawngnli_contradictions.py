"""Difficulty filters and contradictions for one shard of parentheticals (A.1.3, A.1.5, A.1.6)."""

import json

from lextables.atomic import write_text
from lextables.job import job
from lextables.lawngnli.construction import write_contradictions
from lextables.lawngnli.parsers import parser
from lextables.models.weights import place

with job(snakemake.log[0]):
    chosen = snakemake.params.parser
    model = {"model": place(chosen["model"])} if chosen["model"] else {}
    counts = write_contradictions(
        snakemake.input.parentheticals,
        parser(chosen["name"], **model),
        snakemake.params.seed,
        snakemake.output.contradictions,
    )
    record = {"counts": dict(sorted(counts.items()))}
    write_text(snakemake.output.counts, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
