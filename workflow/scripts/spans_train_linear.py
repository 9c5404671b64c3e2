"""Train a linear baseline on the training contracts and keep its weights."""

from pathlib import Path

from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.linear import train

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    with recorded(snakemake.output.record, settings) as record:
        contracts, examples = map(Path, snakemake.input.data)
        vectors = next(iter(snakemake.input.vectors), None)
        record |= train(
            contracts,
            examples,
            settings,
            snakemake.threads,
            snakemake.output.weights,
            vectors,
        )
        log.info("trained: %s", record)
