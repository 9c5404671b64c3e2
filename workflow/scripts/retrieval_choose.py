"""Choose learning rate and updates on the validation queries."""

from pathlib import Path

from lextables.job import job
from lextables.run import recorded
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.choosing import choose
from lextables.tasks.retrieval.schema import ranked

with job(snakemake.log[0]) as log:
    hits, *searched = snakemake.input.needs
    runs = {(rate, seed): path for (seed, rate), path in zip(snakemake.params.rates, searched, strict=True)}
    with recorded(Path(snakemake.output[0]).parent, snakemake.params.settings) as record:
        data = collection.load(snakemake.input.data, snakemake.params.task)
        choice, means = choose(runs, data, ranked(hits))
        record |= {"choice": choice, "validation": means}
        log.info("chosen: %s", choice)
