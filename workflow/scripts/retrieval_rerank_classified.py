"""Reorder a retriever's hits by the probability that a classifier gives each query's own answer."""

from lextables.models import device, multi_head
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.classifying import rerank
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked

with job(snakemake.log[0]):
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    weights, trained = snakemake.input.weights
    with recorded(snakemake.output.record, settings) as record:
        record |= {"device": device.describe(where), "trained": read_json(trained)}
        found = rerank(
            collection.load(snakemake.input.data, snakemake.params.task),
            ranked(snakemake.input.hits[0]),
            settings,
            multi_head.load_trained(weights, where),
            weights_folder(settings["tokenizer"]),
            where,
        )
        write(PREDICTIONS, prediction_rows(found), snakemake.output.predictions)
