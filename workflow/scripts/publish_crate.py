"""The run as an RO-Crate: the workflow, its configuration, what ran and the tables that came of it."""

from pathlib import Path

from lextables.job import job
from lextables.publish.crate import write

with job(snakemake.log[0]):
    given = snakemake.input
    write(
        given.workflow,
        given.config,
        given.tables,
        given.runs,
        given.papers,
        snakemake.params.root,
        Path(snakemake.output[0]).parent,
    )
