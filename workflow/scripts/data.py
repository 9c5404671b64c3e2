"""One data set: its published files to parquet, held to the registered census."""

from importlib import import_module
from pathlib import Path

from lextables import ROOT
from lextables.pipeline.dataset import Published, Source
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.registry.data_sets import write_data_set

with job(snakemake.log[0]) as log:
    params = snakemake.params
    reader = import_module(f"lextables.{params.package}.raw").read
    tables = import_module(f"lextables.{params.package}.schema").TABLES[params.name]
    sources = [read_json(path, Source) for path in snakemake.input.provenance]
    files = {}
    variants = {}
    start = 0
    for kind, count in params.files.items():
        files[kind] = [Path(path) for path in snakemake.input.files[start:][:count]]
        variants[kind] = sources[start]["variant"]
        start += count
    folder = ROOT / "resources/facts"
    facts = {name: folder / file for name, file in params.facts.items()}

    published = Published(files, facts, params.given, variants)
    folder = Path(snakemake.output.census).parent
    census = write_data_set(
        params.name, reader, tables, published, sources, params.census, folder
    )
    log.info("%s", census["notes"])
