"""Rank the documents of every query by the embeddings of an API, in all forms of the queries."""

from functools import partial

from lextables.models import api
from lextables.models.spending import Limits
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection, dense
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings),
):
    settings = snakemake.params.settings
    first = next(iter(settings.values()))
    asking = snakemake.params.asking
    how = {"cache": asking["kept"], "limits": Limits(**asking["limits"])}
    embed = partial(api.embed, first["api"], first["weights"], **how)
    hits = dense.retrieve(
        collection.load(snakemake.input.data, snakemake.params.task),
        settings,
        embed,
        embed,
    )
    for path, form in zip(snakemake.output.predictions, settings, strict=True):
        write(PREDICTIONS, prediction_rows(hits[form]), path)
