"""Score what one run answers, or marks."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.answers import collection, scoring

with job(snakemake.log[0]):
    task, data = (
        snakemake.params.task,
        collection.load(snakemake.input.data, snakemake.params.task["names"]),
    )
    if snakemake.input.highlights:
        marked = collection.marked_of(snakemake.input.highlights[0])
        rows, units = scoring.of_marks(
            snakemake.input.predictions, data, marked, task["folds"]
        )
    else:
        rows, units = scoring.of_answers(
            read(snakemake.input.predictions), data, task["smoothing"]
        )
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
