"""Choose learning rate and updates on the validation queries."""

from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import ranked
from lextables.tasks.retrieval.scoring import choose

params = snakemake.params
with (
    job(snakemake.log[0]) as log,
    recorded(snakemake.output[0], params.settings) as record,
):
    runs = {}
    for (seed, rate), path in zip(params.rates, snakemake.input.searched, strict=True):
        runs[rate, seed] = path
    hits = None
    if snakemake.input.hits:
        hits = ranked(snakemake.input.hits[0])
    data = collection.load(snakemake.input.data, params.task)
    record["choice"], record["validation"] = choose(runs, data, hits)
    log.info("chosen: %s", record["choice"])
