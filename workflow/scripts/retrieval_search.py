"""Fine-tune a model with one learning rate and seed, reading at every number of updates."""

from importlib import import_module
from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.pipeline.job import job
from lextables.pipeline.run import counts_of, identity, recorded
from lextables.tasks.retrieval import collection, training
from lextables.tasks.retrieval.collection import ranked

with job(snakemake.log[0]) as log:
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record["device"] = device.describe(where)
        record |= training.search(
            import_module(f"lextables.tasks.retrieval.{snakemake.params.tuning}_tuning"),
            collection.load(snakemake.input.data, snakemake.params.task),
            [ranked(path) for path in snakemake.input.candidates],
            settings,
            int(snakemake.wildcards.seed),
            where,
            Path(snakemake.params.work),
            identity(counts_of(snakemake.input.census), snakemake.params.code, record["device"]),
            snakemake.output.predictions,
        )
        log.info("%s", record)
    clear(snakemake.params.work)
