"""Train and score one run of MAUD: one model a head, or one for all."""

import json
from pathlib import Path

from lextables.dataset import read
from lextables.job import job
from lextables.maud import training
from lextables.models import device
from lextables.models.checkpoints import clear
from lextables.models.classification import read_tokens
from lextables.models.weights import weights_folder
from lextables.run import identity, recorded

with job(snakemake.log[0]) as log:
    settings, experiment = snakemake.params.settings, snakemake.wildcards.experiment
    examples, heads, best, grid = (list(read(path)) for path in snakemake.input.data)
    where = device.pick(snakemake.params.device)
    with recorded(Path(snakemake.output.record).parent, settings) as record:
        record["device"] = device.describe(where)
        points = None
        if snakemake.input.searched:
            searches = list(zip(snakemake.params.rates, snakemake.input.searched, strict=True))
            points = training.searched_points(settings, searches, examples, heads)
        elif settings["published"]:
            asked = {row["head_id"] for row in examples}
            points = training.published_points(settings, sorted(asked), best, grid)
        # Work is used again only by the same training on the same data, code, libraries and device.
        data = json.loads(Path(snakemake.input.census).read_text(encoding="utf-8"))["data"]
        owner = identity(data, snakemake.params.code, record["device"]) | {
            name: settings.get(name) for name in ("weights", "revision", "content", "max_length")
        }
        record |= training.run(
            settings,
            experiment,
            points,
            examples,
            heads,
            read_tokens(snakemake.input.tokens),
            weights_folder(settings),
            seed=int(snakemake.wildcards.seed),
            device=where,
            work_root=snakemake.params.work,
            identity=owner,
            output=snakemake.output.predictions,
        )
        log.info("%s", record)
    clear(snakemake.params.work)
