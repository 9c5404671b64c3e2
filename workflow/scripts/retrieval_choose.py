"""Choose learning rate and updates on the validation queries."""

from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import ranked
from lextables.tasks.retrieval.scoring import choose

with job(snakemake.log[0]) as log:
    searched = zip(snakemake.params.rates, snakemake.input.searched, strict=True)
    runs = {(rate, seed): path for (seed, rate), path in searched}
    hits = ranked(snakemake.input.hits[0]) if snakemake.input.hits else None
    with recorded(snakemake.output[0], snakemake.params.settings) as record:
        data = collection.load(snakemake.input.data, snakemake.params.task)
        choice, means = choose(runs, data, hits)
        record |= {"choice": choice, "validation": means}
        log.info("chosen: %s", choice)
