"""Reorder a retriever's hits with the cross-encoder that a run has trained."""

from lextables.models import cross_encoder, device
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import loaded, recorded
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked
from lextables.tasks.retrieval.reranking import rerank

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    weights, trained = snakemake.input.weights
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where), "trained": loaded(trained)}
        found = rerank(
            collection.load(snakemake.input.data, snakemake.params.task),
            {snakemake.params.task["forms"][0]: ranked(snakemake.input.hits[0])},
            {snakemake.params.task["forms"][0]: settings},
            cross_encoder.load(weights, where, settings["max_length"]),
        )
        (hits,) = found.values()
        write(PREDICTIONS, prediction_rows(hits), snakemake.output.predictions)
