"""Rank the documents of every query by a bi-encoder, in all forms of the queries."""

from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection, dense
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings) as records,
):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    first = next(iter(settings.values()))
    model = bi_encoder.load(weights_folder(first), where, first["max_length"])
    hits = dense.retrieve(
        collection.load(snakemake.input.data, snakemake.params.task),
        settings,
        bi_encoder.cached(
            bi_encoder.encode_documents, model, first, snakemake.params.vectors
        ),
        bi_encoder.cached(
            bi_encoder.encode_queries, model, first, snakemake.params.vectors
        ),
        model.similarity_fn_name,
    )
    for path, record, form in zip(
        snakemake.output.predictions, records, settings, strict=True
    ):
        write(PREDICTIONS, prediction_rows(hits[form]), path)
        record |= {
            "device": device.describe(where),
            "similarity": model.similarity_fn_name,
        }
