"""Read the test contracts with weights that are fine-tuned already."""

import shutil
from pathlib import Path

from lextables.job import job
from lextables.models import device
from lextables.models.span_runs import Task, read_contracts
from lextables.models.weights import weights_folder
from lextables.run import recorded

with job(snakemake.log[0]):
    settings = snakemake.params.settings
    contracts, questions, _ = (Path(path) for path in snakemake.input.data)
    task = Task(
        contracts, questions, Path(snakemake.input.train[0]).parent, Path(snakemake.input.read[0]).parent
    )
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record["device"] = device.describe(where)
        shutil.copytree(weights_folder(settings), snakemake.output.weights, dirs_exist_ok=True)
        record |= read_contracts(
            task, settings, snakemake.output.weights, where, snakemake.output.predictions
        )
