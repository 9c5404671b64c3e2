"""Train classifiers with the chosen settings.

A multi-task model (`train`) keeps its weights.  Single-task models and the trials of a search are read while
they are trained, and only their predictions are kept.
"""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear, keep
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.classification.examples import trials
from lextables.tasks.classification.training import prepare, read_while_training, train

with job(snakemake.log[0]) as log:
    settings, choice = snakemake.params.settings, chosen(snakemake.input.choice)
    experiment, where = (
        snakemake.wildcards.experiment,
        device.pick(snakemake.params.device),
    )
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where)} | (
            {"choice": choice} if choice else {}
        )
        start = map(
            folder_content, snakemake.input.start[::2]
        )  # weights that the training starts from
        owner = identity(
            counts_of(snakemake.input.census),
            snakemake.params.code,
            device.kind(where),
            start,
        )
        run = prepare(
            settings,
            *snakemake.input.data,
            snakemake.input.tokens[0],
            snakemake.params.splits,
            seed=int(snakemake.wildcards.seed),
            device=where,
            work_root=Path(snakemake.params.work),
            identity=owner,
        )
        planned = trials(run.settings, run.material.answers, choice)
        if experiment == "train":
            (trial,) = planned.values()
            record |= train(run, trial, snakemake.output.weights)
        else:
            tried = experiment == "search"
            record |= read_while_training(
                run, planned, snakemake.output.predictions, tried=tried
            )
        log.info("%s", record)
    if experiment == "train":
        keep(
            snakemake.params.work,
            record["work"][0],
            snakemake.output.weights,
            snakemake.output.record,
        )
    else:
        clear(snakemake.params.work)
