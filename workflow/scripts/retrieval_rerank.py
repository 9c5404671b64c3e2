"""Reorder a retriever's hits with a cross-encoder as it is, in all forms of the queries."""

from functools import partial

from lextables.models import cross_encoder, device
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked
from lextables.tasks.retrieval.lexical import rerank

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings) as records,
):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    first = next(iter(settings.values()))
    model = cross_encoder.load(weights_folder(first), where, first["max_length"])
    found = rerank(
        collection.load(snakemake.input.data, snakemake.params.task),
        dict(zip(settings, map(ranked, snakemake.input.hits), strict=True)),
        settings,
        partial(cross_encoder.score, model),
    )
    for path, record, form in zip(
        snakemake.output.predictions, records, settings, strict=True
    ):
        write(PREDICTIONS, prediction_rows(found[form]), path)
        record["device"] = device.describe(where)
