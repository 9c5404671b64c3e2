"""Read the test examples with the linear floor of classification."""

from pathlib import Path

from lextables.job import job
from lextables.run import loaded, recorded
from lextables.tasks.classification.linear import read_examples

with job(snakemake.log[0]) as log:
    settings, (test,) = snakemake.params.settings, snakemake.params.splits
    weights, trained = snakemake.input.weights
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record |= {"trained": loaded(trained)}
        files, vectors = snakemake.input.data, snakemake.input.vectors
        record |= read_examples(files, vectors, test, settings, weights, snakemake.output.predictions)
        log.info("read: %s", record)
