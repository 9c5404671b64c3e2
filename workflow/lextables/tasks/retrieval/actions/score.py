"""Score the hits of one run on the test queries."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.job import Job
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.scoring import by_query, scores


def run(job: Job) -> None:
    """Write the scores, and what each query contributes."""
    data = collection.load(job.inputs["data"], job.task)
    (predictions,) = job.inputs["predictions"]
    # An additional wording may be ranked for some of the queries only; None is all.
    rows = scores(read(predictions), data, job.task["queries"])
    write(SCORES, rows, job.output("scores"))
    write(UNITS, by_query(rows, data), job.output("units"))
