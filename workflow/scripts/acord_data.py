"""ACORD's zip to parquet, held to the registered census."""

import json
from pathlib import Path

from lextables.acord.raw import read_release
from lextables.acord.schema import TABLES
from lextables.dataset import check_census, write_all, write_census
from lextables.job import job

with job(snakemake.log[0]) as log:
    source = json.loads(Path(snakemake.input.provenance).read_text(encoding="utf-8"))
    release = read_release(
        snakemake.input.release, snakemake.params.categories, snakemake.params.query_aliases
    )
    counts = write_all(TABLES, vars(release), Path(snakemake.output.census).parent)
    log.info("%s", release.notes)
    record = {"data": counts, "notes": release.notes, "sources": [source]}
    check_census(
        record["data"], snakemake.params.census.get(source["variant"], {}), f"ACORD, {source['variant']}"
    )
    write_census(snakemake.output.census, record)
