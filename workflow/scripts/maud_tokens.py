"""Tokenise MAUD's texts for one model, each once."""

import json

from lextables.atomic import write_text
from lextables.dataset import read
from lextables.job import job
from lextables.models.classification import tokenise
from lextables.models.weights import weights_folder

with job(snakemake.log[0]) as log:
    counts = tokenise(
        ((row["text_id"], row["text"]) for row in read(snakemake.input.texts, ["text_id", "text"])),
        weights_folder(snakemake.params.weights),
        int(snakemake.wildcards.length),
        snakemake.output.tokens,
    )
    log.info("%s", counts)
    write_text(snakemake.output.counts, json.dumps(counts, indent=2, sort_keys=True) + "\n")
