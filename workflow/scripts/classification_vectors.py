"""Encode the texts of a data set, in pieces, with a frozen sentence encoder."""

from functools import partial

from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.vectors import encode_texts

with job(snakemake.log[0]) as log:
    weights, where = snakemake.params.weights, device.pick(snakemake.params.device)
    model = bi_encoder.load(weights_folder(weights), where, weights["max_length"])
    count = encode_texts(
        texts_of(
            snakemake.input.examples[0],
            snakemake.input.texts[0],
            snakemake.params.views,
        ),
        partial(bi_encoder.encode, model),
        int(snakemake.wildcards.piece),
        snakemake.output.vectors,
    )
    log.info("%s pieces", count)
