"""Predict the test examples with a linear baseline."""

from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.linear import read_examples, read_views

with job(snakemake.log[0]) as log:
    settings, (test,) = snakemake.params.settings, snakemake.params.splits
    weights, trained = snakemake.input.weights[::2], snakemake.input.weights[1::2]
    with recorded(snakemake.output.record, settings) as record:
        arguments = snakemake.input.data, snakemake.input.vectors, test, settings
        if "readings" in settings:
            record |= {"trained": list(map(read_json, trained))}
            record |= read_views(*arguments, weights, snakemake.output.predictions)
        else:
            record |= {"trained": read_json(trained[0])}
            record |= read_examples(
                *arguments, weights[0], snakemake.output.predictions
            )
        log.info("read: %s", record)
