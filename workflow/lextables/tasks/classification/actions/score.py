"""Score one run on the test examples."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.classification.scoring import score
from lextables.tasks.classification.settings import ScoreSettings
from lextables.tasks.job import Job


def run(job: Job) -> None:
    """Write the scores, and what each unit contributes."""
    fields = {name: value for name, value in job.task.items() if name != "test"}
    settings = ScoreSettings(**fields)
    (predictions,) = job.inputs["predictions"]
    examples, heads = job.inputs["data"]
    (census,) = job.inputs["census"]
    rows, units = score(
        read(predictions),
        read(examples),
        read(heads),
        job.task["test"],
        settings,
        census,
    )
    write(SCORES, rows, job.output("scores"))
    write(UNITS, units, job.output("units"))
