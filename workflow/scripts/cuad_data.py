"""CUAD's zips and sheet to parquet, held to the registered census."""

import json
from pathlib import Path

from lextables.cuad.raw import read_release
from lextables.cuad.schema import TABLES
from lextables.dataset import check_census, write_all, write_census
from lextables.job import job

with job(snakemake.log[0]) as log:
    sources = [json.loads(Path(path).read_text(encoding="utf-8")) for path in snakemake.input.provenance]
    release = read_release(
        snakemake.input.release,
        snakemake.input.clauses,
        snakemake.input.categories,
        snakemake.input.recorded,
        snakemake.params.contract_types,
    )
    counts = write_all(TABLES, vars(release), Path(snakemake.output.census).parent)
    log.info("%s", release.notes)
    record = {"data": counts, "notes": release.notes, "sources": sources}
    # The contracts and spans are those of data.zip; the other files have variants of their own.
    variant = next(source["variant"] for source in sources if source["file"] == "data.zip")
    check_census(record["data"], snakemake.params.census.get(variant, {}), f"CUAD, {variant}")
    write_census(snakemake.output.census, record)
