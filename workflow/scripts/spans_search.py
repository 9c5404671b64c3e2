"""Fine-tune a model without the held-out contracts and predict these; its weights are not kept."""

from pathlib import Path
from tempfile import TemporaryDirectory

from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.pipeline.content import folder_content
from lextables.pipeline.job import job
from lextables.pipeline.run import counts_of, identity, recorded
from lextables.tasks.spans.reading import Reading, read_contracts
from lextables.tasks.spans.squad import held_out_contracts
from lextables.tasks.spans.training import contract_splits, train

with job(snakemake.log[0]) as log, TemporaryDirectory() as scratch:
    settings, where = snakemake.params.settings, device.pick(snakemake.params.device)
    contracts, questions = map(Path, snakemake.input.data)
    windows, read = (
        Path(paths[0]).parent for paths in (snakemake.input.train, snakemake.input.read)
    )
    with recorded(snakemake.output.record, settings) as record:
        record["device"] = device.describe(where)
        start = map(
            folder_content, snakemake.input.weights[::2]
        )  # weights that the training starts from
        owner = identity(
            counts_of(snakemake.input.census),
            snakemake.params.code,
            device.kind(where),
            start,
        )
        record |= train(
            contracts,
            questions,
            windows,
            settings,
            seed=int(snakemake.wildcards.seed),
            search=True,
            device=where,
            work_root=snakemake.params.work,
            identity=owner,
            output=f"{scratch}/weights",
        )
        log.info("trained: %s", record)
        held_out = held_out_contracts(contract_splits(contracts), settings["held_out"])
        record |= read_contracts(
            Reading(contracts, questions, windows, read),
            settings,
            f"{scratch}/weights",
            where,
            snakemake.output.predictions,
            scratch,
            unseen=held_out,
        )
    clear(snakemake.params.work)
