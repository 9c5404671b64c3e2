"""Count the marks of a model in the test contracts, under the rule of a review, and the
correct ones.

Rule `review_marks` (review.smk).  A mark is a span with a probability above
``minimum``.  In the category ``relaxed`` it is also correct if it contains the answer.
"""

from pathlib import Path

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.review import marks

with job(snakemake.log[0]):
    questions, answers = snakemake.input.data
    test_questions = [row for row in read(questions) if row["split"] == "test"]
    params = snakemake.params
    counts = marks.count(
        read(Path(params.run) / "predictions.parquet"),
        test_questions,
        read(answers),
        relaxed=params.relaxed,
        minimum=params.minimum,
    )
    write(marks.MARKS, counts, snakemake.output[0])
