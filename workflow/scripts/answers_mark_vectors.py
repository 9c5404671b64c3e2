"""Say of every paragraph how like an encoder finds it to each question with its options."""

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers import baselines, collection
from lextables.tasks.answers.collection import MARKED, of_vectors

with (
    job(snakemake.log[0]),
    recorded(snakemake.output.record, snakemake.params.settings) as record,
):
    settings, data = (
        snakemake.params.settings,
        collection.load(snakemake.input, snakemake.params.names),
    )
    model = bi_encoder.load(
        weights_folder(settings),
        device.pick(snakemake.params.device),
        settings["max_length"],
    )
    own_settings.check_products(model, own_settings.COSINE)
    encode = (bi_encoder.encode_documents, bi_encoder.encode_queries)
    encoders = (
        bi_encoder.cached(each, model, settings, snakemake.params.vectors)
        for each in encode
    )
    probabilities = baselines.similarity_marks(of_vectors(data, *encoders))
    record["marks"] = write(
        MARKED,
        collection.marked_rows(data, probabilities),
        snakemake.output.predictions,
    )
    record["device"] = device.describe(model.device)
