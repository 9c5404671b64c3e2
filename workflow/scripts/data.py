"""Write the tables of one data set from its published files, and its census, which must
be the registered one.
"""

from importlib import import_module
from pathlib import Path

from lextables import ROOT
from lextables.pipeline.dataset import Published, Source, write_data_set
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    params = snakemake.params
    reader = import_module(f"lextables.{params.package}.raw").read
    tables = import_module(f"lextables.{params.package}.schema").TABLES[params.name]
    sources = [read_json(path, Source) for path in snakemake.input.provenance]
    # The input has the files of all kinds in one list; params.files is {kind: count}.
    files = {}
    variants = {}
    start = 0
    for kind, count in params.files.items():
        files[kind] = [Path(path) for path in snakemake.input.files[start:][:count]]
        variants[kind] = sources[start]["variant"]
        start += count
    facts_folder = ROOT / "resources/facts"
    facts = {name: facts_folder / file for name, file in params.facts.items()}

    published = Published(files, facts, params.given, variants)
    folder = Path(snakemake.output.census).parent
    census = write_data_set(
        params.name,
        reader=reader,
        tables=tables,
        published=published,
        sources=sources,
        registered=params.census,
        folder=folder,
    )
    log.info("%s", census["notes"])
