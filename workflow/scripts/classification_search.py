"""Train with one learning rate and seed, reading the validation examples at every number of updates."""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.pipeline.job import job
from lextables.pipeline.run import counts_of, identity, recorded
from lextables.tasks.classification.training import prepare, read_while_training
from lextables.tasks.classification.trials import trials

with job(snakemake.log[0]) as log:
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record["device"] = device.describe(where)
        run = prepare(
            settings,
            *snakemake.input.data,
            snakemake.input.tokens[0],
            snakemake.params.splits,
            seed=int(snakemake.wildcards.seed),
            device=where,
            work_root=Path(snakemake.params.work),
            identity=identity(counts_of(snakemake.input.census), snakemake.params.code, record["device"]),
        )
        tried = trials(run.settings, run.material.answers)
        record |= read_while_training(run, tried, snakemake.output.predictions, tried=True)
        log.info("%s", record)
    clear(snakemake.params.work)
