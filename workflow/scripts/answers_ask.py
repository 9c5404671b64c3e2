"""Ask a language model the questions about each document, or which paragraphs are relevant to one."""

from lextables.models import cached_model
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.answers.asking import answer, mark

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    made = mark if snakemake.params.marks else answer
    with recorded(snakemake.output.record, settings) as record:
        model = cached_model.of_rule(settings, snakemake.params)
        record |= made(
            snakemake.input,
            snakemake.params.names,
            settings,
            model,
            snakemake.output.predictions,
        )
        record["device"] = model.device
        log.info("asked: %s", record["asked"])
