"""Fine-tune a model on contracts with the chosen settings and keep its weights."""

from pathlib import Path

from lextables.models import device
from lextables.models.checkpoints import keep, work_folder
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.run import chosen, counts_of, identity, recorded
from lextables.tasks.spans.settings import Training
from lextables.tasks.spans.training import train, work_settings
from lextables.tasks.spans.windows import WindowFiles

with job(snakemake.log[0]) as log:
    files = snakemake.input
    params = snakemake.params
    choice = chosen(files.choice)
    where = device.pick(params.device)
    settings = Training(**{**params.settings, **choice})
    seed = int(snakemake.wildcards.seed)
    with recorded(snakemake.output.record, settings.plain()) as record:
        record["device"] = device.describe(where)
        if choice:
            record["choice"] = choice
        owner = identity(
            counts_of(files.census),
            params.code,
            device.kind(where),
            map(folder_content, files.start_weights),
        )
        record |= train(
            WindowFiles(*map(Path, files.data), Path(files.train[0]).parent),
            settings,
            seed=seed,
            search=False,
            device=where,
            work=work_folder(params.work, work_settings(settings, seed, False, owner)),
            output=snakemake.output.weights,
        )
        log.info("trained: %s", record)
    keep(params.work, record["work"], snakemake.output.weights, snakemake.output.record)
