"""Ask a language model about the test examples, as multiple-choice questions."""

from lextables.models import cached_model
from lextables.models.language_model import note_asked
from lextables.models.multiple_choice import counts
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.asking import AskedFiles, answer, asked_examples
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.settings import AskingSettings

with job(snakemake.log[0]):
    settings = AskingSettings(**snakemake.params.settings)
    (test,) = snakemake.params.splits
    with recorded(snakemake.output.record, settings.plain()) as record:
        files = AskedFiles(*snakemake.input.data)
        asked = asked_examples(files, settings, test)
        model = cached_model.of_rule(settings.plain(), snakemake.params)
        rows, answers = answer(asked, files, settings, model)
        note_asked(record, model, counts(answers))
        table = READINGS if settings.readings else PREDICTIONS
        write(table, rows, snakemake.output.predictions)
