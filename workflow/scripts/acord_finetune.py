"""Fine-tune a cross-encoder with one learning rate and seed, scoring at every number of updates."""

import json
from pathlib import Path

from lextables.acord.finetuning import finetune
from lextables.acord.retrieval import load_collection, ranked_clauses
from lextables.job import job
from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.run import identity, recorded

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record["device"] = device.describe(where)
        # A checkpoint is used again only by the same training on the same data, code, libraries and device.
        data = json.loads(Path(snakemake.input.census).read_text(encoding="utf-8"))["data"]
        owner = identity(data, snakemake.params.code, record["device"])
        record |= finetune(
            load_collection(str(Path(snakemake.input.census).parent)),
            [ranked_clauses(path) for path in snakemake.input.candidates],
            settings,
            int(snakemake.wildcards.seed),
            where,
            Path(snakemake.params.work),
            owner,
            snakemake.output.predictions,
        )
        log.info("%s", record)
    clear(snakemake.params.work)
