"""Tokenise the texts or pairs of texts of a data set for one model, each once."""

from lextables.models.weights import weights_folder
from lextables.pipeline.job import job
from lextables.tasks.classification.examples import texts_of
from lextables.tasks.classification.features import tokenise
from lextables.tasks.classification.settings import View

with job(snakemake.log[0]) as log:
    files = snakemake.input
    params = snakemake.params
    views = [View(**view) for view in params.views]
    texts = texts_of(files.examples[0], files.texts[0], views)
    folder = weights_folder(params.weights)
    length = int(snakemake.wildcards.length)
    log.info("%s", tokenise(texts, folder, length, snakemake.output.tokens))
