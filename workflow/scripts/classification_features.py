"""Tokenise the texts of a data set for one model, each once."""

from lextables.dataset import read
from lextables.job import job
from lextables.models.weights import weights_folder
from lextables.tasks.classification.features import tokenise

with job(snakemake.log[0]) as log:
    counts = tokenise(
        ((row["text_id"], row["text"]) for row in read(snakemake.input.texts[0], ["text_id", "text"])),
        weights_folder(snakemake.params.weights),
        int(snakemake.wildcards.length),
        snakemake.output.tokens,
    )
    log.info("%s", counts)
