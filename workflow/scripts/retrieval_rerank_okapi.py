"""Reorder a retriever's hits by gensim's BM25 over them, in all forms of the queries."""

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection, lexical
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows, ranked

with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, snakemake.params.settings),
):
    settings = snakemake.params.settings
    data = collection.load(snakemake.input.data, snakemake.params.task)
    for hits, path, form in zip(
        snakemake.input.hits, snakemake.output.predictions, settings, strict=True
    ):
        found = lexical.retrieve_okapi(data.among(ranked(hits)), {form: settings[form]})
        write(PREDICTIONS, prediction_rows(found[form]), path)
