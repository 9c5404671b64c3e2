"""The run as an RO-Crate: the workflow, its configuration, what ran and the tables that came of it."""

from pathlib import Path

from lextables.job import job
from lextables.publish.crate import RunFiles, write

with job(snakemake.log[0]):
    given = snakemake.input
    tables, runs, papers = ([*map(Path, several)] for several in (given.tables, given.runs, given.papers))
    root = Path(snakemake.params.root)
    files = RunFiles(Path(given.workflow), Path(given.config), tables, runs, papers, root)
    write(files, Path(snakemake.output[0]).parent)
