"""Choose the learning rate and the number of updates by the validation queries."""

import logging

from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.collection import ranked
from lextables.tasks.retrieval.scoring import choose

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Record the chosen trial and the means of all trials (`scoring.choose`).

    The searches of a reranker reorder the hits of a first stage; the searches of a
    retriever have no hits as input.
    """
    with recorded(job.output("record"), job.settings) as record:
        runs = {}
        rates = job.task["rates"]
        for (seed, rate), path in zip(rates, job.inputs["searched"], strict=True):
            runs[rate, seed] = path
        hits = None
        if job.inputs["hits"]:
            hits = ranked(job.inputs["hits"][0])
        data = collection.load(job.inputs["data"], job.task)
        record["choice"], record["validation"] = choose(runs, data, hits)
        _log.info("chosen: %s", record["choice"])
