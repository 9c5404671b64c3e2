"""Choose the settings of each head, or of all together: the authors', or of a search."""

from lextables.pipeline.dataset import read
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.classification import scoring
from lextables.tasks.classification.examples import of_splits
from lextables.tasks.classification.settings import ChoiceSettings

with job(snakemake.log[0]) as log:
    files = snakemake.input
    settings = ChoiceSettings(**snakemake.params.settings)
    examples, heads = (list(read(path)) for path in files.data)
    with recorded(snakemake.output[0], settings.plain()) as record:
        if settings.published:
            head_ids = sorted({row["head_id"] for row in examples})
            best = read(files.published[0])
            record["choice"] = scoring.published(settings, head_ids, best)
        else:
            (validation,) = snakemake.params.splits
            held_out = list(of_splits(examples, validation))
            diverged = set()
            for path in files.records:
                diverged.update(read_json(path).get("diverged", {}))
            record["diverged"] = sorted(diverged)
            record["choice"] = scoring.searched(
                settings, files.searched, diverged, held_out, heads
            )
        log.info("chosen: %s", record["choice"])
