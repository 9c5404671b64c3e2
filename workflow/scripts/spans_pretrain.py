"""Masked language modelling on contracts, before fine-tuning."""

from lextables.models import device
from lextables.models.checkpoints import clear, work_folder
from lextables.models.optimiser import Optimiser
from lextables.models.weights import weights_folder
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import read
from lextables.pipeline.job import job
from lextables.pipeline.run import identity, recorded
from lextables.tasks.spans.pretraining import pretrain

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    with recorded(snakemake.output.record, settings) as record:
        record["device"] = device.describe(where)
        contracts = [sha256_of(path) for path in snakemake.input.contracts]
        owner = identity(contracts, snakemake.params.code, device.kind(where))
        record["resumed_from_update"] = pretrain(
            weights_folder(settings),
            (
                row["text"]
                for path in snakemake.input.contracts
                for row in read(path, ["text"])
            ),
            **{
                name: settings[name]
                for name in (
                    "updates",
                    "batch_size",
                    "max_length",
                    "learning_rate",
                    "bf16",
                )
            },
            optimiser=Optimiser(**settings["optimiser"]),
            seed=0,
            work=work_folder(
                snakemake.params.work, {"settings": settings, "identity": owner}
            ),
            save_every=max(1, settings["updates"] // 20),
            device=where,
            output=snakemake.output.weights,
        )
    clear(snakemake.params.work)
