"""Write the tables of one data set and its census from the published files; fail if the
census is not the registered one.

Rules `<data set>_data` (data.smk), with the params of `planning.data_sets.DataJob`.
"""

from importlib import import_module
from pathlib import Path

from lextables import ROOT
from lextables.pipeline.dataset import Published, Source, write_data_set
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    params = snakemake.params
    # params.package is the package of the paper, or that of a format which several
    # papers share.
    reader = import_module(f"lextables.{params.package}.raw").read
    tables = import_module(f"lextables.{params.package}.schema").TABLES[params.name]
    sources = [read_json(path, Source) for path in snakemake.input.provenance]
    # The paper's entry of the data set names its kinds of files.  The inputs list the
    # files of all kinds one after another, and a provenance for each file; params.files
    # is {kind: number of files}.
    files = {}
    variants = {}
    start = 0
    for kind, count in params.files.items():
        files[kind] = [Path(path) for path in snakemake.input.files[start:][:count]]
        variants[kind] = sources[start]["variant"]  # that of the kind's first file
        start += count
    # Files of the repository that the reader needs, {name: file}.
    facts_folder = ROOT / "resources/facts"
    facts = {name: facts_folder / file for name, file in params.facts.items()}

    # params.given are keys of the paper's entry that the reader needs.
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
