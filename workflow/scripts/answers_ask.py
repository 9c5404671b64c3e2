"""Ask a language model the questions about each document."""

from pathlib import Path

from lextables.job import job
from lextables.models import asked, device
from lextables.models.limits import Limits
from lextables.run import recorded
from lextables.tasks.answers.asking import answer

with job(snakemake.log[0]) as log:
    settings, asking = snakemake.params.settings, snakemake.params.asking
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        model = asked.opened(settings, asking["kept"], Limits(**asking["limits"]), snakemake.params.device)
        made = answer(snakemake.input, snakemake.params.names, settings, model, snakemake.output.predictions)
        where = settings.get("api") or device.describe(device.pick(snakemake.params.device))
        record |= made | {"device": where}
        log.info("asked: %s", made["asked"])
