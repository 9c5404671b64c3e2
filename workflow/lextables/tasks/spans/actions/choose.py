"""Choose the trial with the highest AUPR on the held-out contracts."""

import logging

from lextables.pipeline.dataset import read
from lextables.pipeline.run import recorded
from lextables.tasks.job import Job
from lextables.tasks.spans.nbest import ChoosingSettings, choose
from lextables.tasks.spans.squad import contract_splits, held_out_contracts

_log = logging.getLogger("lextables")


def run(job: Job) -> None:
    """Record the chosen trial and the AUPR of each."""
    settings = ChoosingSettings(**job.settings)
    contracts, questions, answers = job.inputs["data"]
    with recorded(job.output("record"), settings.plain()) as record:
        held_out = held_out_contracts(contract_splits(contracts), settings.held_out)
        asked = [row for row in read(questions) if row["contract_id"] in held_out]
        choice, areas = choose(
            settings, job.inputs["predictions"], asked, read(answers)
        )
        record |= {"choice": choice.plain(), "validation_aupr": areas}
        _log.info("chosen: %s of %s", choice, areas)
