"""Predict spans in the test contracts with a linear baseline."""

from pathlib import Path

from lextables.pipeline.dataset import write
from lextables.pipeline.files import read_json
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans import linear
from lextables.tasks.spans.linear_settings import LinearRun
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.segment_vectors import read_vectors
from lextables.tasks.spans.squad import contract_texts, read_questions


def run(job: Job) -> None:
    """Read the test contracts."""
    settings = LinearRun(**job.settings)
    contracts, questions = job.inputs["data"]
    (weights,) = job.inputs["weights"]
    with recorded(job.output("record"), settings.plain()) as record:
        record["trained"] = read_json(job.inputs["weight_records"][0])
        texts = contract_texts(contracts, "test")
        rows = linear.spans_of(
            linear.load(Path(weights, linear.WEIGHTS)),
            texts,
            read_questions(questions),
            settings,
            read_vectors(job.inputs["vectors"], sorted(texts)),
        )
        write(NBEST, rows, job.output("predictions"))
