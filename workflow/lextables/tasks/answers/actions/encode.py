"""Encode paragraphs and questions with a sentence encoder that is not trained here."""

from lextables.tasks.answers import collection
from lextables.tasks.encoding import encode
from lextables.tasks.job import Job


def run(job: Job) -> None:
    """Write the vectors of all paragraphs and questions."""
    data = collection.load(job.inputs["data"], job.task["names"])
    questions = [question.text for question in data.questions.values()]
    encode(job, lambda: questions, data.texts)
