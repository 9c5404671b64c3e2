"""Encode paragraphs and questions with a sentence encoder that is not trained here."""

from lextables.tasks.answers import collection
from lextables.tasks.job import Job
from lextables.tasks.vectors import write_vectors


def run(job: Job) -> None:
    """Write the vectors of all paragraphs and questions."""
    data = collection.load(job.inputs["data"], job.task["names"])
    questions = [question.text for question in data.questions.values()]
    write_vectors(job, lambda: questions, data.texts)
