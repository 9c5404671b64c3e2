"""Train a linear baseline on the final splits and keep its weights."""

from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.linear import train

with job(snakemake.log[0]) as log:
    settings, (final,) = snakemake.params.settings, snakemake.params.splits
    with recorded(snakemake.output.record, settings) as record:
        files, vectors = snakemake.input.data, snakemake.input.vectors
        record |= train(
            files, vectors, final, settings, snakemake.threads, snakemake.output.weights
        )
        log.info("trained: %s", record)
