"""Score the answers of one run, or its marks."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.answers import collection, scoring
from lextables.tasks.job import Job

MARK = "mark"  # the experiment of marked paragraphs


def run(job: Job) -> None:
    """Write the scores, and what each document contributes."""
    task = job.task
    (predictions,) = job.inputs["predictions"]
    data = collection.load(job.inputs["data"], task["names"])
    if job.experiment == MARK:
        marked = collection.marked_of(job.inputs["highlights"])
        # `of_marks` reads the file itself, one pair at a time.
        rows, units = scoring.of_marks(predictions, data, marked, task["folds"])
    else:
        rows, units = scoring.of_answers(read(predictions), data, task["smoothing"])
    write(SCORES, rows, job.output("scores"))
    write(UNITS, units, job.output("units"))
