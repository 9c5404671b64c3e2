"""Fine-tune a model.

With the chosen settings its weights are kept (`train`).  With the settings of a trial (`search`) it reads the
validation queries at every number of updates, and only these predictions are kept.
"""

from importlib import import_module
from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import clear, keep
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.retrieval import collection, training
from lextables.tasks.retrieval.collection import ranked

with job(snakemake.log[0]) as log:
    choice, where = chosen(snakemake.input.choice), device.pick(snakemake.params.device)
    settings, searching = (
        snakemake.params.settings | choice,
        snakemake.wildcards.experiment == "search",
    )
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where)} | (
            {"choice": choice} if choice else {}
        )
        tuning = import_module(
            f"lextables.tasks.retrieval.{snakemake.params.tuning}_tuning"
        )
        data = collection.load(snakemake.input.data, snakemake.params.task)
        owner = identity(
            counts_of(snakemake.input.census), snakemake.params.code, device.kind(where)
        )
        seed, work = int(snakemake.wildcards.seed), Path(snakemake.params.work)
        run = training.Training(tuning, data, settings, seed, where, work, owner)
        if searching:
            hits = [ranked(path) for path in snakemake.input.candidates]
            record |= training.search(run, hits, snakemake.output.predictions)
        else:
            record |= training.train(run, snakemake.output.weights)
        log.info("%s", record)
    if searching:
        clear(work)
    else:
        keep(work, record["work"], snakemake.output.weights, snakemake.output.record)
