"""Fine-tune a cross-encoder or a bi-encoder.

The experiment `train` has the chosen settings and keeps the weights.  The experiment
`search` has the settings of a trial: at every number of updates of the grid the model
scores candidates of the validation queries, and only these scores are kept.
"""

import logging
from importlib import import_module
from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear, keep
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.retrieval import collection, training
from lextables.tasks.retrieval.collection import ranked
from lextables.tasks.retrieval.tuning_settings import TuningSettings

SEARCH = "search"  # an experiment
_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Train a model of the kind ``job.part`` with one learning rate and seed."""
    choice = job.choice
    where = device.pick(job.device)
    settings = {**job.settings, **choice}
    work = Path(job.work)
    searching = job.experiment == SEARCH
    with recorded(job.output("record"), settings) as record:
        record["device"] = device.describe(where)
        if choice:
            record["choice"] = choice
        trained = training.Training(
            tuning=import_module(f"lextables.tasks.retrieval.{job.part}_tuning"),
            collection=collection.load(job.inputs["data"], job.task),
            settings=TuningSettings(**settings),
            seed=job.seed,
            device=where,
            work_root=work,
            identity=job.identity(device.kind(where)),
        )
        if searching:
            hits = [ranked(path) for path in job.inputs["predictions"]]
            record |= training.search(trained, hits, job.output("predictions"))
        else:
            record |= training.train(trained, job.output("weights"))
        _log.info("%s", record)
    if searching:
        clear(work)
    else:
        keep(work, record["work"], job.output("weights"), job.output("record"))
