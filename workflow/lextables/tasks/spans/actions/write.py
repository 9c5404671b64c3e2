"""Ask a language model about the test contracts; its outputs are scored as text."""

from lextables.models import cached_model
from lextables.models.language_model import note_asked
from lextables.pipeline.dataset import read, write
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans import writing
from lextables.tasks.spans.outputs import OUTPUTS, candidate_passages
from lextables.tasks.spans.squad import contract_texts, read_questions


def run(job: Job) -> None:
    """Ask about all questions, with the passages of another run if the settings say
    so.
    """
    contracts, questions = job.inputs["data"]
    settings = writing.WritingSettings(**job.settings)
    with recorded(job.output("record"), settings.plain()) as record:
        model = cached_model.of_job(settings.plain(), job)
        texts = contract_texts(contracts, "test")
        asked = read_questions(questions)
        candidates = None
        for path in job.inputs["predictions"]:
            assert settings.least is not None
            candidates = candidate_passages(read(path), asked, texts, settings.least)
        rows, counts = writing.write(model, settings, asked, texts, candidates)
        note_asked(record, model, counts)
        write(OUTPUTS, rows, job.output("predictions"))
