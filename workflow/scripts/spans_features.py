"""Cut the training, held-out and test contracts into windows of tokens."""

from pathlib import Path

from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.spans.features import write_parts
from lextables.tasks.spans.settings import CuttingSettings

with job(snakemake.log[0]) as log:
    settings = CuttingSettings(**snakemake.params.settings)
    weights = next(iter(snakemake.input.weights), None)
    counts = write_parts(
        *map(Path, snakemake.input.data),
        settings,
        weights or weights_folder(settings.plain()),
        Path(snakemake.output.train[0]).parents[1],
        snakemake.params.shards,
    )
    log.info("%s", counts)
