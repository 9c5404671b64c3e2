"""Train a model for each head with the settings that were chosen, reading the test examples with each."""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.classification.training import prepare, read_while_training
from lextables.tasks.classification.trials import trials

with job(snakemake.log[0]) as log:
    settings, choice = snakemake.params.settings, chosen(snakemake.input.choice)
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record |= {"device": device.describe(where)} | ({"choice": choice} if choice else {})
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
        wanted = trials(run.settings, run.material.answers, choice)
        record |= read_while_training(run, wanted, snakemake.output.predictions, tried=False)
        log.info("%s", record)
    clear(snakemake.params.work)
