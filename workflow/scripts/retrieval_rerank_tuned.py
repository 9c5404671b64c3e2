"""Reorder a retriever's hits with the cross-encoder that a run has trained."""

from functools import partial

from lextables.models import cross_encoder, device
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked
from lextables.tasks.retrieval.lexical import rerank

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    weights, trained = snakemake.input.weights
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where), "trained": read_json(trained)}
        model = cross_encoder.load(weights, where, settings["max_length"])
        found = rerank(
            collection.load(snakemake.input.data, snakemake.params.task),
            {snakemake.params.task["forms"][0]: ranked(snakemake.input.hits[0])},
            {snakemake.params.task["forms"][0]: settings},
            partial(cross_encoder.score, model),
        )
        (hits,) = found.values()
        write(PREDICTIONS, prediction_rows(hits), snakemake.output.predictions)
