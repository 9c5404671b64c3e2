"""Train a linear baseline on the final splits and keep its weights."""

from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.linear import LinearFiles, train
from lextables.tasks.classification.settings import LinearSettings

with job(snakemake.log[0]) as log:
    files = snakemake.input
    settings = LinearSettings(**snakemake.params.settings)
    (final,) = snakemake.params.splits
    with recorded(snakemake.output.record, settings.plain()) as record:
        data = LinearFiles(*files.data, *files.vectors)
        weights = snakemake.output.weights
        record |= train(data, final, settings, snakemake.threads, weights)
        log.info("trained: %s", record)
