"""Masked language modelling on contracts, before fine-tuning."""

from lextables.models import device
from lextables.models.checkpoints import clear, work_folder
from lextables.models.weights import weights_folder
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import read
from lextables.pipeline.job import job
from lextables.pipeline.run import identity, recorded
from lextables.tasks.spans.pretraining import pretrain
from lextables.tasks.spans.settings import PretrainingRun


def contract_texts(paths):
    """Yield the texts of tables of contracts, one after another."""
    for path in paths:
        for row in read(path, ["text"]):
            yield row["text"]


with job(snakemake.log[0]):
    params = snakemake.params
    contracts = snakemake.input.contracts
    settings = PretrainingRun(**params.settings)
    where = device.pick(params.device)
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["device"] = device.describe(where)
        digests = [sha256_of(path) for path in contracts]
        owner = identity(digests, params.code, device.kind(where))
        record["resumed_from_update"] = pretrain(
            weights_folder(settings.plain()),
            contract_texts(contracts),
            settings,
            seed=0,
            work=work_folder(
                params.work, {"settings": settings.plain(), "identity": owner}
            ),
            device=where,
            output=snakemake.output.weights,
        )
    clear(params.work)
