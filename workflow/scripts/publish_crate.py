"""The run as an RO-Crate: the workflow, its configuration, what ran and the tables that came of it."""

from pathlib import Path

from lextables import not_run
from lextables.job import job
from lextables.publish.crate import RunFiles, write

with job(snakemake.log[0]):
    given = snakemake.input
    several = (given.tables, not_run.made(given.runs), given.papers)
    tables, runs, papers = ([*map(Path, paths)] for paths in several)
    root = Path(snakemake.params.root)
    files = RunFiles(Path(given.workflow), Path(given.config), tables, runs, papers, root)
    write(files, Path(snakemake.output[0]).parent)
