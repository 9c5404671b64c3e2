"""Reorder a retriever's hits with a bi-encoder, in all forms of the queries."""

from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection, dense
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings) as records,
):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    first = next(iter(settings.values()))
    data = collection.load(snakemake.input.data, snakemake.params.task)
    model = bi_encoder.load(weights_folder(first), where, first["max_length"])
    # As the first stage encodes them, so that what it kept is found.
    kept = [
        bi_encoder.cached(encode, model, first, snakemake.params.vectors)
        for encode in (bi_encoder.encode_documents, bi_encoder.encode_queries)
    ]
    files = zip(
        snakemake.input.hits,
        snakemake.output.predictions,
        records,
        settings,
        strict=True,
    )
    for hits, path, record, form in files:
        candidates = data.among(ranked(hits))
        found = dense.retrieve(
            candidates, {form: settings[form]}, *kept, model.similarity_fn_name
        )
        write(PREDICTIONS, prediction_rows(found[form]), path)
        record |= {
            "device": device.describe(where),
            "similarity": model.similarity_fn_name,
        }
