"""Join the spans of adjacent windows."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.nbest import join
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import contract_texts, read_questions


def run(job: Job) -> None:
    """Join the spans of another run's predictions."""
    contracts, questions = job.inputs["data"]
    with recorded(job.output("record"), job.settings):
        texts = contract_texts(contracts)
        text_of = {}
        for row in read_questions(questions):
            text_of[row["question_id"]] = texts[row["contract_id"]]
        joined = join(read(job.inputs["predictions"][0]), text_of)
        write(NBEST, joined, job.output("predictions"))
