"""Fine-tune a model on contracts with the chosen settings and keep its weights."""

import logging
from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import keep
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.settings import Training
from lextables.tasks.spans.training import train
from lextables.tasks.spans.windows import WindowFiles

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Train on the windows of the training contracts."""
    choice = job.choice
    where = device.pick(job.device)
    settings = Training(**{**job.settings, **choice})
    contracts, questions = map(Path, job.inputs["data"])
    windows = Path(job.inputs["train"][0]).parent
    weights = job.output("weights")
    with recorded(job.output("record"), settings.plain()) as record:
        record["device"] = device.describe(where)
        if choice:
            record["choice"] = choice
        record |= train(
            WindowFiles(contracts, questions, windows),
            settings,
            seed=job.seed,
            search=False,
            device=where,
            work_root=job.work,
            identity=job.identity(device.kind(where)),
            output=weights,
        )
        _log.info("trained: %s", record)
    keep(job.work, record["work"], weights, job.output("record"))
