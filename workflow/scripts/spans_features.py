"""Cut the training, held-out and test contracts into windows of tokens."""

from pathlib import Path

from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.spans.features import write_parts

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    counts = write_parts(
        *map(Path, snakemake.input.data),
        settings,
        snakemake.input.weights[0]
        if snakemake.input.weights
        else weights_folder(settings),
        Path(snakemake.output.train[0]).parents[1],
        shards=snakemake.params.shards,
        processes=snakemake.threads,
    )
    log.info("%s", counts)
