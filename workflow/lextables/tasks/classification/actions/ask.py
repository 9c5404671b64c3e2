"""Ask a language model about the test examples, as multiple-choice questions."""

from lextables.models import cached_model
from lextables.models.language_model import note_asked
from lextables.models.multiple_choice import counts
from lextables.pipeline.dataset import write
from lextables.pipeline.run import recorded
from lextables.tasks.classification.asking import AskedFiles, answer, asked_examples
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.settings import AskingSettings
from lextables.tasks.job import Job


def run(job: Job) -> None:
    """Write the predictions from the answers of the language model."""
    settings = AskingSettings(**job.settings)
    with recorded(job.output("record"), settings.plain()) as record:
        files = AskedFiles(*job.inputs["data"])
        asked = asked_examples(files, settings, job.task["test"])
        model = cached_model.of_job(settings.plain(), job)
        rows, answers = answer(asked, files, settings, model)
        note_asked(record, model, counts(answers))
        table = READINGS if settings.readings else PREDICTIONS
        write(table, rows, job.output("predictions"))
