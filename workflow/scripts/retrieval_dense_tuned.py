"""Rank the documents of every query by the bi-encoder that a run has trained."""

from functools import partial

from lextables.models import bi_encoder, device
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import collection, dense
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    weights, trained = snakemake.input.weights
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where), "trained": read_json(trained)}
        model = bi_encoder.load(weights, where, settings["max_length"])
        record["similarity"] = model.similarity_fn_name
        found = dense.retrieve(
            collection.load(snakemake.input.data, snakemake.params.task),
            {snakemake.params.task["forms"][0]: settings},
            partial(bi_encoder.encode_documents, model),
            partial(bi_encoder.encode_queries, model),
            model.similarity_fn_name,
        )
        (hits,) = found.values()
        write(PREDICTIONS, prediction_rows(hits), snakemake.output.predictions)
