"""Choose the trial with the highest AUPR on the held-out contracts."""

from lextables.pipeline.dataset import read
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.nbest import ChoosingSettings, choose
from lextables.tasks.spans.squad import contract_splits, held_out_contracts

with job(snakemake.log[0]) as log:
    settings = ChoosingSettings(**snakemake.params.settings)
    contracts, questions, answers = snakemake.input.data
    with recorded(snakemake.output[0], settings.plain()) as record:
        held_out = held_out_contracts(contract_splits(contracts), settings.held_out)
        choice, areas = choose(
            settings,
            snakemake.input.searched,
            [row for row in read(questions) if row["contract_id"] in held_out],
            read(answers),
        )
        record |= {"choice": choice.plain(), "validation_aupr": areas}
        log.info("chosen: %s of %s", choice, areas)
