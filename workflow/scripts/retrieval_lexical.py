"""Rank the documents of every query by BM25, in all forms of the queries."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection, lexical
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings),
):
    settings = snakemake.params.settings
    hits = lexical.retrieve_bm25(
        collection.load(snakemake.input.data, snakemake.params.task), settings
    )
    for path, form in zip(snakemake.output.predictions, settings, strict=True):
        write(PREDICTIONS, prediction_rows(hits[form]), path)
