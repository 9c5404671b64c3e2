"""Ask a language model about the test examples, as multiple-choice questions."""

from lextables.models import cached_model, device
from lextables.models.multiple_choice import counts
from lextables.models.spending import Limits
from lextables.pipeline.dataset import write
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification.asking import answer, asked_examples
from lextables.tasks.classification.schema import PREDICTIONS, READINGS

with job(snakemake.log[0]) as log:
    settings, asking, (test,) = snakemake.params.settings, snakemake.params.asking, snakemake.params.splits
    with recorded(snakemake.output.record, settings) as record:
        questions = asked_examples(snakemake.input.data, settings, test)
        model = cached_model.open_language_model(
            settings, asking["kept"], Limits(**asking["limits"]), snakemake.params.device
        )
        rows, answers = answer(questions, snakemake.input.data, settings, model)
        write(READINGS if "readings" in settings else PREDICTIONS, rows, snakemake.output.predictions)
        where = settings.get("api") or device.describe(device.pick(snakemake.params.device))
        record |= {"asked": counts(answers), "device": where}
        log.info("asked: %s", record["asked"])
