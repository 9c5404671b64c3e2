"""Ask a language model about the test contracts; it quotes the answers as spans."""

from lextables.models import cached_model
from lextables.models.language_model import note_asked
from lextables.pipeline.dataset import write
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans import asking
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import contract_texts, read_questions


def run(job: Job) -> None:
    """Ask about all questions of the test contracts."""
    contracts, questions = job.inputs["data"]
    settings = asking.AskingSettings(**job.settings)
    with recorded(job.output("record"), settings.plain()) as record:
        model = cached_model.of_job(settings.plain(), job)
        texts = contract_texts(contracts, "test")
        asked = read_questions(questions)
        rows, counts = asking.ask(model, settings, asked, texts)
        note_asked(record, model, counts)
        write(NBEST, rows, job.output("predictions"))
