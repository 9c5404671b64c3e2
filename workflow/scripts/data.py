"""One data set: its published files to parquet, held to the registered census."""

from importlib import import_module
from itertools import islice
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
    given, name, package = (
        snakemake.input,
        snakemake.params.name,
        snakemake.params.package,
    )
    read = import_module(f"lextables.{package}.raw").read
    tables = import_module(f"lextables.{package}.schema").TABLES[name]
    paths = map(Path, given.files)
    files = {
        kind: list(islice(paths, count))
        for kind, count in snakemake.params.files.items()
    }
    facts = {
        fact: ROOT / "resources/facts" / file
        for fact, file in snakemake.params.facts.items()
    }
    sources = [read_json(path, Source) for path in given.provenance]

    of_files = iter(sources)
    firsts = {
        kind: list(islice(of_files, len(several)))[:1]
        for kind, several in files.items()
    }
    variants = {kind: source["variant"] for kind, (source,) in firsts.items()}

    rows = read(name, Published(files, facts, snakemake.params.given, variants))
    log.info("%s", rows.notes)
    counts = write_all(tables, rows.of, Path(snakemake.output.census).parent)
    # The data are those of the first file; the others have variants of their own.
    variant = sources[0]["variant"]
    check_census(counts, snakemake.params.census.get(variant, {}), f"{name}, {variant}")
    write_census(
        snakemake.output.census,
        {"data": counts, "notes": rows.notes, "sources": sources},
    )
