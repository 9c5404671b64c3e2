"""Fine-tune a model on a task's spans and read contracts with it; a search reads the held-out ones."""

import json
from pathlib import Path

from lextables.dataset import read
from lextables.job import job
from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.models.span_runs import Task, chosen_point, held_out_contracts, read_contracts, train
from lextables.run import identity, recorded

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings | {
        "relaxed": snakemake.params.relaxed,
        "tail": snakemake.params.tail,
    }
    contracts, questions, answers = (Path(path) for path in snakemake.input.data)
    task = Task(
        contracts, questions, Path(snakemake.input.train[0]).parent, Path(snakemake.input.read[0]).parent
    )
    search = snakemake.wildcards.experiment == "search"
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, snakemake.params.settings) as record:
        record["device"] = device.describe(where)
        held = held_out_contracts(task.splits(), settings["held_out"])
        asked = [row for row in read(questions) if row["contract_id"] in held]
        point, areas = chosen_point(settings, snakemake.input.searched, asked, read(answers))
        record["validation_aupr"] = areas
        # A checkpoint is used again only by the same training on the same data, code, libraries and device.
        data = json.loads(Path(snakemake.input.census).read_text(encoding="utf-8"))["data"]
        owner = identity(data, snakemake.params.code, record["device"])
        record |= train(
            task,
            settings,
            point,
            seed=int(snakemake.wildcards.seed),
            search=search,
            device=where,
            work_root=snakemake.params.work,
            identity=owner,
            output=snakemake.output.weights,
        )
        log.info("trained: %s", record)
        record |= read_contracts(
            task,
            settings,
            snakemake.output.weights,
            where,
            snakemake.output.predictions,
            unseen=held if search else frozenset(),
        )
    clear(snakemake.params.work)
