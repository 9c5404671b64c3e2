"""Learn from an encoder's vectors of other documents' best paragraphs, and answer every question."""

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers import baselines, collection
from lextables.tasks.answers.collection import PREDICTIONS, of_vectors

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
    vectors = of_vectors(data, *encoders)
    found, record["penalties"] = baselines.linear_answers(
        vectors, data.shares, settings, snakemake.threads
    )
    record["pairs"] = write(
        PREDICTIONS, collection.prediction_rows(found), snakemake.output.predictions
    )
    record["device"] = device.describe(model.device)
