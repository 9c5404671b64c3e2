"""Fine-tune classifiers with the chosen settings.

A multi-task model (`train`) keeps its weights.  Single-task models and the trials of a
search predict while they are trained, and only their predictions are kept: MAUD's 144
models would fill a disk.
"""

import logging
from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear, keep
from lextables.pipeline.run import recorded
from lextables.tasks.classification import training
from lextables.tasks.classification.examples import trials
from lextables.tasks.classification.settings import TrainingSettings
from lextables.tasks.job import Job

# Experiments.
SEARCH = "search"
TRAIN = "train"
_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Train on the final splits, or in a search on the training split alone."""
    settings = TrainingSettings(**job.settings)
    choice = job.choice
    where = device.pick(job.device)
    tried = job.experiment == SEARCH
    learnt, read = ("training", "validation") if tried else ("final", "test")
    (tokens,) = job.inputs["tokens"]
    examples, heads = job.inputs["data"]
    with recorded(job.output("record"), settings.plain()) as record:
        record["device"] = device.describe(where)
        if choice:
            record["choice"] = choice
        owner = job.identity(device.kind(where))
        prepared = training.prepare(
            settings,
            training.TrainingFiles(examples, heads, tokens),
            training.Splits(job.task[learnt], job.task[read]),
            training.Environment(job.seed, where, Path(job.work), owner),
        )
        planned = trials(prepared.settings, prepared.material.answers, choice)
        if job.experiment == TRAIN:
            (trial,) = planned.values()
            record |= training.train(prepared, trial, job.output("weights"))
        else:
            record |= training.read_while_training(
                prepared, planned, job.output("predictions"), tried=tried
            )
        _log.info("%s", record)
    # Checkpoints, and work of other settings, are deleted.  ``record["work"]`` are the
    # names of the work folders of the trained models, here of one.
    if job.experiment == TRAIN:
        keep(job.work, record["work"][0], job.output("weights"), job.output("record"))
    else:
        clear(job.work)
