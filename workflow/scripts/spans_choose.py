"""Choose the trial with the highest AUPR on the held-out contracts."""

from lextables.pipeline.dataset import read
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.nbest import choose
from lextables.tasks.spans.squad import held_out_contracts

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    contracts, questions, answers = snakemake.input.data
    with recorded(snakemake.output[0], settings) as record:
        splits = {
            row["contract_id"]: row["split"]
            for row in read(contracts, ["contract_id", "split"])
        }
        held_out = held_out_contracts(splits, settings["held_out"])
        choice, areas = choose(
            settings["trials"],
            snakemake.input.searched,
            [row for row in read(questions) if row["contract_id"] in held_out],
            read(answers),
            settings["relaxed"],
            settings["low_thresholds"],
        )
        record |= {"choice": choice, "validation_aupr": areas}
        log.info("chosen: %s of %s", choice, areas)
