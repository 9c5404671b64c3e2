"""Rank documents, or reorder the hits of other systems: all runs of one system."""

from importlib import import_module

from lextables.pipeline.dataset import write
from lextables.pipeline.run import recorded_all
from lextables.tasks.job import Job
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import PREDICTIONS, prediction_rows
from lextables.tasks.retrieval.ranking import Ranking, shared_out


def run(job: Job) -> None:
    """Rank with the ranker of the kind of system, ``job.part``.

    ``job.settings`` are {condition: settings of its run}.
    """
    ranker = import_module(f"lextables.tasks.retrieval.rankers.{job.part}")
    with recorded_all(job.outputs["record"], job.settings) as records:
        ranking = Ranking(
            collection=collection.load(job.inputs["data"], job.task),
            settings=job.settings,
            hits=shared_out(job.inputs["predictions"], job.settings),
            trained=[*job.inputs["weights"][:1], *job.inputs["weight_records"][:1]],
            encoded=job.inputs["vectors"],
            device=job.device,
            vectors=job.vectors,
            asking=job.asking,
            records=records,
        )
        hits = ranker.rank(ranking)
        paths = job.outputs["predictions"]
        for condition, path in zip(job.settings, paths, strict=True):
            write(PREDICTIONS, prediction_rows(hits[condition]), path)
