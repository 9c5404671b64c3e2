"""Predict the test examples with multi-task models, under each view if the task has views."""

from lextables.models import device
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.reading import read_examples, read_views
from lextables.tasks.classification.schema import PREDICTIONS, READINGS

with job(snakemake.log[0]):
    settings, (examples, _), (test,) = (
        snakemake.params.settings,
        snakemake.input.data,
        snakemake.params.splits,
    )
    weights, trained = snakemake.input.weights[::2], snakemake.input.weights[1::2]
    where = device.pick(snakemake.params.device)
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where)}
        if "readings" in settings:
            record |= {"trained": list(map(read_json, trained))}
            rows = read_views(
                settings, weights, examples, test, snakemake.input.tokens, where
            )
            write(READINGS, rows, snakemake.output.predictions)
        else:
            record |= {"trained": read_json(trained[0])}
            rows = read_examples(
                weights[0], examples, test, snakemake.input.tokens[0], where
            )
            write(PREDICTIONS, rows, snakemake.output.predictions)
