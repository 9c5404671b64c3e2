"""Score the spans or the text outputs of one run on the test contracts."""

from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.job import Job
from lextables.tasks.spans.scoring import score


def run(job: Job) -> None:
    """Write the scores, and what each contract contributes."""
    questions, answers = job.inputs["data"]
    (predictions,) = job.inputs["predictions"]
    settings = {name: job.task[name] for name in ("relaxed", "low_thresholds")}
    rows, units = score(
        predictions, questions, answers, job.task["evaluator"], settings
    )
    write(SCORES, rows, job.output("scores"))
    write(UNITS, units, job.output("units"))
