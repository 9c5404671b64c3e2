"""Score what one run answers, or marks."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.answers import collection, scoring

with job(snakemake.log[0]):
    task = snakemake.params.task
    predictions = snakemake.input.predictions
    data = collection.load(snakemake.input.data, task["names"])
    if snakemake.wildcards.experiment == "mark":
        marked = collection.marked_of(snakemake.input.highlights)
        rows, units = scoring.of_marks(predictions, data, marked, task["folds"])
    else:
        rows, units = scoring.of_answers(read(predictions), data, task["smoothing"])
    write(SCORES, rows, snakemake.output.scores)
    write(UNITS, units, snakemake.output.units)
