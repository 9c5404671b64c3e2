"""Take up predictions that a user has already: checked against the data set, and written as a run's own."""

from importlib import import_module
from pathlib import Path

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.submitted import opened

with (
    job(snakemake.log[0]) as log,
    recorded(Path(snakemake.output.record).parent, snakemake.params.settings) as record,
):
    settings, task = snakemake.params.settings, snakemake.params.task
    reader = import_module(f"lextables.tasks.{task['task']}.submitted")
    file = opened(settings["content"])
    found = reader.predictions(file, settings["form"], snakemake.input.data, task)
    rows = write(reader.PREDICTIONS, found.rows, snakemake.output.predictions)
    record["device"] = "not known"
    record["given"] = {"file": file.name, "rows": rows, "passed_over": found.passed_over}
    log.info("%s: %d rows; %d predictions of other splits passed over", file.name, rows, found.passed_over)
