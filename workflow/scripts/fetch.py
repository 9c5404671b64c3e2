"""Fetch the weights of all planned models, so that no later job needs a network."""

from lextables.models.weights import fetch
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    for settings in snakemake.params.weights:
        print(fetch(settings))
