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
from lextables.tasks.retrieval.tuning_settings import TuningSettings

params = snakemake.params
wildcards = snakemake.wildcards
searching = wildcards.experiment == "search"
with job(snakemake.log[0]) as log:
    choice = chosen(snakemake.input.choice)
    where = device.pick(params.device)
    settings = {**params.settings, **choice}
    with recorded(snakemake.output.record, settings) as record:
        record["device"] = device.describe(where)
        if choice:
            record["choice"] = choice
        tuning = import_module(f"lextables.tasks.retrieval.{params.tuning}_tuning")
        data = collection.load(snakemake.input.data, params.task)
        counts = counts_of(snakemake.input.census)
        owner = identity(counts, params.code, device.kind(where))
        seed = int(wildcards.seed)
        work = Path(params.work)
        tuned = TuningSettings(**settings)
        run = training.Training(tuning, data, tuned, seed, where, work, owner)
        if searching:
            hits = [ranked(path) for path in snakemake.input.candidates]
            record.update(training.search(run, hits, snakemake.output.predictions))
        else:
            record.update(training.train(run, snakemake.output.weights))
        log.info("%s", record)
    if searching:
        clear(work)
    else:
        keep(work, record["work"], snakemake.output.weights, snakemake.output.record)
