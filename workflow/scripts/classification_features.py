"""Tokenise the texts or pairs of texts of a data set for one model, each once."""

from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.features import tokenise

with job(snakemake.log[0]) as log:
    counts = tokenise(
        texts_of(
            snakemake.input.examples[0],
            snakemake.input.texts[0],
            snakemake.params.views,
        ),
        weights_folder(snakemake.params.weights),
        int(snakemake.wildcards.length),
        snakemake.output.tokens,
    )
    log.info("%s", counts)
