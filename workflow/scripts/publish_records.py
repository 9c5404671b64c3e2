"""The tables of all papers as records of other collections, and their matched values as capsules."""

from functools import partial
from pathlib import Path

from lextables.pipeline.atomic import replacing_folder, write_text
from lextables.pipeline.job import job
from lextables.publish import capsules, records
from lextables.report.commands import command

with job(snakemake.log[0]):
    params = snakemake.params
    tables = []
    for path in map(Path, snakemake.input):
        paper, name = path.parent.name, path.stem
        about = {key: params.papers[paper][key] for key in ("citation", "homepage")}
        title, data = params.papers[paper]["titles"][name], params.config["data"]
        tables.append(records.read(path, paper=paper, name=name, title=title, data=data, **about))
    with replacing_folder(Path(snakemake.output[0]).parent) as folder:
        records.write(tables, folder)
        capsules.write(tables, partial(command, params.config), params.results, folder / "capsules.csv")
    write_text(snakemake.output[0], "")
