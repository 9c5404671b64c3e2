"""Fine-tune a model on contracts with the chosen settings and keep its weights."""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import keep
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.spans.training import train

with job(snakemake.log[0]) as log:
    choice, where = chosen(snakemake.input.choice), device.pick(snakemake.params.device)
    settings = snakemake.params.settings | choice
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where)} | (
            {"choice": choice} if choice else {}
        )
        start = map(
            folder_content, snakemake.input.weights[::2]
        )  # weights that the training starts from
        owner = identity(
            counts_of(snakemake.input.census),
            snakemake.params.code,
            device.kind(where),
            start,
        )
        record |= train(
            *map(Path, snakemake.input.data),
            Path(snakemake.input.train[0]).parent,
            settings,
            seed=int(snakemake.wildcards.seed),
            search=False,
            device=where,
            work_root=snakemake.params.work,
            identity=owner,
            output=snakemake.output.weights,
        )
        log.info("trained: %s", record)
    keep(
        snakemake.params.work,
        record["work"],
        snakemake.output.weights,
        snakemake.output.record,
    )
