"""Ask a language model about the test examples, as multiple-choice questions."""

from lextables.models import cached_model
from lextables.models.multiple_choice import counts
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.asking import answer, asked_examples
from lextables.tasks.classification.schema import PREDICTIONS, READINGS

with job(snakemake.log[0]) as log:
    settings, (test,) = snakemake.params.settings, snakemake.params.splits
    with recorded(snakemake.output.record, settings) as record:
        questions = asked_examples(snakemake.input.data, settings, test)
        model = cached_model.of_rule(settings, snakemake.params)
        rows, answers = answer(questions, snakemake.input.data, settings, model)
        write(
            READINGS if "readings" in settings else PREDICTIONS,
            rows,
            snakemake.output.predictions,
        )
        record |= {"asked": counts(answers), "device": model.device}
        log.info("asked: %s", record["asked"])
