"""Fetch the weights of all planned models, so that no later job needs a network.

Rule `fetch` (fetch.smk).  ``weights`` are the settings of each model: its name, the
location of its weights and their revision.
"""

from lextables.models.weights import fetch
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    for settings in snakemake.params.weights:
        print(fetch(settings))  # a line with the size and the folder
