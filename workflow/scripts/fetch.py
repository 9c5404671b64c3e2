"""Fetch the weights of all planned models, so that no later job needs a network."""

from lextables.job import job
from lextables.models.fetching import fetch

with job(snakemake.log[0]):
    for settings in snakemake.params.weights:
        print(fetch(settings))
