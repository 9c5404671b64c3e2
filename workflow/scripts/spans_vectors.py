"""Encode the text units of contracts with a frozen sentence encoder."""

from functools import partial

from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.spans.squad import contract_texts
from lextables.tasks.spans.units import write_vectors

with job(snakemake.log[0]) as log:
    settings = snakemake.params.settings
    where = device.pick(snakemake.params.device)
    model = bi_encoder.load(weights_folder(settings), where, settings["max_length"])
    texts = contract_texts(snakemake.input.data[0])
    encode = partial(bi_encoder.encode, model)
    log.info("encoded: %s", write_vectors(texts, encode, snakemake.output[0]))
