"""Ask a language model the questions about each document, or which paragraphs are relevant to one."""

from lextables.models import cached_model, device
from lextables.models.spending import Limits
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers.asking import answer, mark

with job(snakemake.log[0]) as log:
    settings, asking = snakemake.params.settings, snakemake.params.asking
    made = mark if snakemake.params.marks else answer
    with recorded(snakemake.output.record, settings) as record:
        model = cached_model.open_language_model(
            settings, asking["kept"], Limits(**asking["limits"]), snakemake.params.device
        )
        record |= made(snakemake.input, snakemake.params.names, settings, model, snakemake.output.predictions)
        record["device"] = settings.get("api") or device.describe(device.pick(snakemake.params.device))
        log.info("asked: %s", record["asked"])
