"""Train one model for all heads with the settings that were chosen, and keep its weights."""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import keep
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.classification.training import prepare, train
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
            identity=identity(
                counts_of(snakemake.input.census),
                snakemake.params.code,
                record["device"],
                map(folder_content, snakemake.input.start[::2]),  # weights that it goes on from
            ),
        )
        (trial,) = trials(run.settings, run.material.answers, choice).values()
        record |= train(run, trial, snakemake.output.weights)
        log.info("%s", record)
    keep(snakemake.params.work, record["work"][0], snakemake.output.weights, snakemake.output.record)
