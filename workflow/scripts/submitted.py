"""Read submitted predictions, check them against the data set, and write them as the predictions of a run."""

from importlib import import_module
from pathlib import Path

from lextables.pipeline.job import job
from lextables.tasks.submitted import store

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    task = snakemake.params.task
    reader = import_module(f"lextables.tasks.{task['task']}.submitted")
    folder = Path(snakemake.output.predictions).parent
    stored = store(reader, settings, snakemake.input.data, task, folder)
    log.info(
        "%s: %d rows; %d predictions of other splits skipped",
        stored["file"],
        stored["rows"],
        stored["skipped"],
    )
