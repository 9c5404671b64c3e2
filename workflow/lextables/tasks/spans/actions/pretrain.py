"""Masked language modelling on contracts, before fine-tuning."""

from collections.abc import Iterable, Iterator

from lextables.models import device
from lextables.models.checkpoints import clear, work_folder
from lextables.models.weights import weights_folder
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import read
from lextables.pipeline.run import identity, recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.pretraining import pretrain
from lextables.tasks.spans.settings import PretrainingRun


def contract_texts(paths: Iterable[str]) -> Iterator[str]:
    """Yield the texts of tables of contracts, one after another."""
    for path in paths:
        for row in read(path, ["text"]):
            yield row["text"]


def run(job: Job) -> None:
    """Train on the contracts of all input tables, and keep the weights."""
    contracts = job.inputs["contracts"]
    settings = PretrainingRun(**job.settings)
    where = device.pick(job.device)
    with recorded(job.output("record"), settings.plain()) as record:
        record["device"] = device.describe(where)
        # A checkpoint is resumed only with the same texts, code, device and settings.
        digests = [sha256_of(path) for path in contracts]
        owner = identity(digests, job.code, device.kind(where))
        key = {"settings": settings.plain(), "identity": owner}
        record["resumed_from_update"] = pretrain(
            weights_folder(settings.plain()),
            contract_texts(contracts),
            settings,
            seed=0,
            work=work_folder(job.work, key),
            device=where,
            output=job.output("weights"),
        )
    clear(job.work)
