"""One data set: its published files to parquet, held to the registered census."""

from importlib import import_module
from pathlib import Path

from lextables import ROOT
from lextables.pipeline.dataset import (
    Published,
    Source,
    check_census,
    write_all,
    write_census,
)
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    params = snakemake.params
    read = import_module(f"lextables.{params.package}.raw").read
    tables = import_module(f"lextables.{params.package}.schema").TABLES[params.name]
    sources = [read_json(path, Source) for path in snakemake.input.provenance]
    files, variants, start = {}, {}, 0
    for kind, count in params.files.items():
        files[kind] = [Path(path) for path in snakemake.input.files[start:][:count]]
        variants[kind] = sources[start]["variant"]
        start += count
    folder = ROOT / "resources/facts"
    facts = {name: folder / file for name, file in params.facts.items()}

    rows = read(params.name, Published(files, facts, params.given, variants))
    log.info("%s", rows.notes)
    counts = write_all(tables, rows.of, Path(snakemake.output.census).parent)
    # The data are those of the first file; the others have variants of their own.
    variant = sources[0]["variant"]
    check_census(counts, params.census.get(variant, {}), f"{params.name}, {variant}")
    census = {"data": counts, "notes": rows.notes, "sources": sources}
    write_census(snakemake.output.census, census)
