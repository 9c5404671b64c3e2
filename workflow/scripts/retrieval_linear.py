"""Learn a linear model from the training queries and rank the documents of every test query by it."""

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection, linear
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings) as records,
):
    settings, encoders = snakemake.params.settings, None
    first = next(iter(settings.values()))
    if "weights" in first:
        model = bi_encoder.load(
            weights_folder(first),
            device.pick(snakemake.params.device),
            first["max_length"],
        )
        own_settings.check_products(model)
        encode = (bi_encoder.encode_documents, bi_encoder.encode_queries)
        encoders = tuple(
            bi_encoder.cached(each, model, first, snakemake.params.vectors)
            for each in encode
        )
    found = collection.load(snakemake.input.data, snakemake.params.task)
    hits, ranker = linear.retrieve(found, settings, encoders)
    for path, record, form in zip(
        snakemake.output.predictions, records, settings, strict=True
    ):
        write(PREDICTIONS, prediction_rows(hits[form]), path)
        record["learnt"] = {
            name: getattr(ranker, name).tolist()
            for name in ("mean", "scale", "weights")
        }
