"""Fuse several systems, move the queries towards the first hits in an encoder's space, and fuse again."""

from lextables.models import bi_encoder, device, own_settings
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import collection, lexical
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, scored

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    with recorded(snakemake.output.record, settings) as record:
        record["device"] = device.describe(where)
        if snakemake.input.weights:
            folder, trained = snakemake.input.weights
            record["trained"] = read_json(trained)
        else:
            folder = weights_folder(settings)
        model = bi_encoder.load(folder, where, settings["max_length"])
        own_settings.check_products(model)
        encode = (bi_encoder.encode_documents, bi_encoder.encode_queries)
        encoders = [
            bi_encoder.cached(each, model, settings, snakemake.params.vectors)
            for each in encode
        ]
        data = collection.load(snakemake.input.data, snakemake.params.task)
        systems = [scored(path) for path in snakemake.input.hits]
        hits = lexical.fuse_with_feedback(data, systems, settings, *encoders)
        write(PREDICTIONS, prediction_rows(hits), snakemake.output.predictions)
