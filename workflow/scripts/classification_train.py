"""Fine-tune classifiers with the chosen settings.

A multi-task model (`train`) keeps its weights.  Single-task models and the trials of a
search are read while they are trained, and only their predictions are kept.
"""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear, keep
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.classification import training
from lextables.tasks.classification.examples import trials
from lextables.tasks.classification.settings import TrainingSettings

with job(snakemake.log[0]) as log:
    files = snakemake.input
    output = snakemake.output
    params = snakemake.params
    settings = TrainingSettings(**params.settings)
    choice = chosen(files.choice)
    where = device.pick(params.device)
    experiment = snakemake.wildcards.experiment
    with recorded(output.record, settings.plain()) as record:
        record["device"] = device.describe(where)
        if choice:
            record["choice"] = choice
        owner = identity(
            counts_of(files.census),
            params.code,
            device.kind(where),
            map(folder_content, files.start_weights),
        )
        run = training.prepare(
            settings,
            training.TrainingFiles(*files.data, files.tokens[0]),
            training.Splits(*params.splits),
            training.Environment(
                int(snakemake.wildcards.seed), where, Path(params.work), owner
            ),
        )
        planned = trials(run.settings, run.material.answers, choice)
        if experiment == "train":
            (trial,) = planned.values()
            record |= training.train(run, trial, output.weights)
        else:
            tried = experiment == "search"
            record |= training.read_while_training(
                run, planned, output.predictions, tried=tried
            )
        log.info("%s", record)
    if experiment == "train":
        keep(params.work, record["work"][0], output.weights, output.record)
    else:
        clear(params.work)
