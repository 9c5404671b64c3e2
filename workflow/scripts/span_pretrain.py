"""Masked-language-model training on contracts, before fine-tuning."""

import hashlib
from pathlib import Path

from lextables.dataset import read
from lextables.job import job
from lextables.models import device
from lextables.models.checkpoints import clear, work_folder
from lextables.models.masked_lm import pretrain
from lextables.models.weights import weights_folder
from lextables.run import identity, recorded


def sha256(path):
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


with job(snakemake.log[0]):
    settings = snakemake.params.settings
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record["device"] = device.describe(where)
        contracts = [sha256(path) for path in snakemake.input.contracts]
        owner = identity(contracts, snakemake.params.code, record["device"])
        work = work_folder(snakemake.params.work, {"settings": settings, "identity": owner})
        record["resumed_from_update"] = pretrain(
            weights_folder(settings),
            (row["text"] for path in snakemake.input.contracts for row in read(path, ["text"])),
            updates=settings["updates"],
            batch_size=settings["batch_size"],
            max_length=settings["max_length"],
            learning_rate=settings["learning_rate"],
            seed=0,
            work=work,
            save_every=max(1, settings["updates"] // 20),
            bf16=settings["bf16"],
            device=where,
            output=snakemake.output.weights,
        )
    clear(snakemake.params.work)
