"""Fine-tune a model without the held-out contracts and predict their spans.

The weights are not kept.  If the training diverges, there are no predictions, and the
record says why.
"""

import logging
from pathlib import Path
from tempfile import TemporaryDirectory

from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.pipeline.dataset import write
from lextables.pipeline.finite import NotFinite
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.inference import InferenceFiles, read_contracts
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.settings import Search
from lextables.tasks.spans.squad import contract_splits, held_out_contracts
from lextables.tasks.spans.training import train
from lextables.tasks.spans.windows import WindowFiles

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Train with the settings of one trial, and read the held-out contracts."""
    settings = Search(**job.settings)
    where = device.pick(job.device)
    contracts, questions = map(Path, job.inputs["data"])
    windows = Path(job.inputs["train"][0]).parent
    held_out_windows = Path(job.inputs["read"][0]).parent
    unseen = held_out_contracts(contract_splits(contracts), settings.held_out)
    predictions = job.output("predictions")
    with (
        TemporaryDirectory() as scratch,
        recorded(job.output("record"), settings.plain()) as record,
    ):
        weights = f"{scratch}/weights"
        record["device"] = device.describe(where)
        try:
            record |= train(
                WindowFiles(contracts, questions, windows),
                settings,
                seed=job.seed,
                search=True,
                device=where,
                work_root=job.work,
                identity=job.identity(device.kind(where)),
                output=weights,
            )
            _log.info("trained: %s", record)
            record |= read_contracts(
                InferenceFiles(contracts, questions, held_out_windows, windows),
                settings,
                weights,
                where,
                predictions,
                scratch,
                unseen=unseen,
            )
        except NotFinite as error:
            _log.warning("diverged: %s", error)
            record["diverged"] = str(error)
            write(NBEST, [], predictions)
    clear(job.work)
