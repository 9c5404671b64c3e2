"""Fine-tune a model with the settings that were chosen, and keep its weights."""

from importlib import import_module
from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import keep
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.retrieval import collection, training

with job(snakemake.log[0]) as log:
    choice, where = chosen(snakemake.input.choice), device.pick(snakemake.params.device)
    settings = snakemake.params.settings | choice
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record |= {"device": device.describe(where)} | ({"choice": choice} if choice else {})
        record |= training.train(
            import_module(f"lextables.tasks.retrieval.{snakemake.params.tuning}_tuning"),
            collection.load(snakemake.input.data, snakemake.params.task),
            settings,
            int(snakemake.wildcards.seed),
            where,
            Path(snakemake.params.work),
            identity(counts_of(snakemake.input.census), snakemake.params.code, record["device"]),
            snakemake.output.weights,
        )
        log.info("%s", record)
    keep(snakemake.params.work, record["work"], snakemake.output.weights, snakemake.output.record)
