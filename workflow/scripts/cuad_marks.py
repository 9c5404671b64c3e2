"""Count what a model marks in the test contracts, by the rule of a review, and how much of it is right."""

from lextables.cuad import marks
from lextables.dataset import read, write
from lextables.job import job

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    asked = [row for row in read(questions) if row["split"] == "test"]
    params = snakemake.params
    found = marks.count(
        read(snakemake.input.predictions), asked, read(answers), params.relaxed, params.minimum
    )
    write(marks.MARKS, found, snakemake.output[0])
