"""Encode the texts of a data set, in pieces, with a frozen sentence encoder."""

from functools import partial

from lextables.models import bi_encoder, device
from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.settings import View
from lextables.tasks.classification.vectors import encode_texts

with job(snakemake.log[0]) as log:
    files = snakemake.input
    params = snakemake.params
    views = [View(**view) for view in params.views]
    texts = texts_of(files.examples[0], files.texts[0], views)
    folder = weights_folder(params.weights)
    where = device.pick(params.device)
    model = bi_encoder.load(folder, where, params.weights["max_length"])
    encode = partial(bi_encoder.encode, model)
    words = int(snakemake.wildcards.piece)
    count = encode_texts(texts, encode, words, snakemake.output.vectors)
    log.info("%s pieces", count)
