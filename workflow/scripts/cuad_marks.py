"""Count what a model marks in the test contracts, by the rule of a review, and how much of it is right."""

from pathlib import Path

from lextables.papers.cuad import marks
from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    asked = [row for row in read(questions) if row["split"] == "test"]
    params = snakemake.params
    predictions = read(Path(params.run) / "predictions.parquet")
    found = marks.count(predictions, asked, read(answers), params.relaxed, params.minimum)
    write(marks.MARKS, found, snakemake.output[0])
