"""Rank documents, or reorder the hits of other systems: all runs of one system."""

from importlib import import_module

from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded_all
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows
from lextables.tasks.retrieval.ranking import Ranking, shared_out

params = snakemake.params
with (
    job(snakemake.log[0]),
    recorded_all(snakemake.output.records, params.settings) as records,
):
    kind = params.kind.replace("-", "_")
    ranker = import_module(f"lextables.tasks.retrieval.rankers.{kind}")
    ranking = Ranking(
        collection.load(snakemake.input.data, params.task),
        params.settings,
        shared_out(snakemake.input.hits, params.settings),
        snakemake.input.weights,
        params.device,
        params.vectors,
        params.asking,
        records,
    )
    hits = ranker.rank(ranking)
    for condition, path in zip(
        params.settings, snakemake.output.predictions, strict=True
    ):
        write(PREDICTIONS, prediction_rows(hits[condition]), path)
