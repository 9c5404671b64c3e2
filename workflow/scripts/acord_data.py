# ruff: noqa: F821  (snakemake is given by the rule)
"""ACORD's zip to parquet, held to the registered census."""

import json
from pathlib import Path

from lextables.acord.plan import Acord
from lextables.acord.raw import read_release
from lextables.acord.schema import TABLES
from lextables.dataset import census, check_census, write, write_census
from lextables.job import job
from lextables.papers import load

with job(snakemake.log[0]) as log:
    paper = load(snakemake.input.paper, Acord)
    source = json.loads(Path(snakemake.input.provenance).read_text(encoding="utf-8"))
    release = read_release(snakemake.input.release, paper.categories, paper.query_aliases)
    folder = Path(snakemake.output.census).parent
    counts = {}
    for table in TABLES:
        write(table, getattr(release, table.name), folder / f"{table.name}.parquet")
        counts[table.name] = census(table, folder / f"{table.name}.parquet")
    log.info("%s", release.notes)
    record = {"data": counts, "notes": release.notes, "sources": [source]}
    check_census(record["data"], paper.census.get(source["variant"], {}), f"ACORD, {source['variant']}")
    write_census(snakemake.output.census, record)
