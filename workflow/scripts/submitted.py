"""Read submitted predictions, check them against the data set, and write them as the predictions of a run."""

from importlib import import_module

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.submitted import opened

with (
    job(snakemake.log[0]) as log,
    recorded(snakemake.output.record, snakemake.params.settings) as record,
):
    settings, task = snakemake.params.settings, snakemake.params.task
    reader = import_module(f"lextables.tasks.{task['task']}.submitted")
    file = opened(settings["content"])
    submitted = reader.predictions(file, settings["form"], snakemake.input.data, task)
    rows = write(
        submitted.table or reader.PREDICTIONS,
        submitted.rows,
        snakemake.output.predictions,
    )
    record["device"] = "not known"
    record["submitted"] = {
        "file": file.name,
        "rows": rows,
        "skipped": submitted.skipped,
    }
    log.info(
        "%s: %d rows; %d predictions of other splits skipped",
        file.name,
        rows,
        submitted.skipped,
    )
