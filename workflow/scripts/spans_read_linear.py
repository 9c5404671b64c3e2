"""Predict spans in the test contracts with a linear baseline."""

from pathlib import Path

from lextables.pipeline.files import read_json
from lextables.pipeline.job import job
from lextables.pipeline.run import recorded
from lextables.tasks.spans.linear import read_contracts

with job(snakemake.log[0]):
    settings, (weights, trained) = snakemake.params.settings, snakemake.input.weights
    with recorded(snakemake.output.record, settings) as record:
        record |= {"trained": read_json(trained)}
        contracts, questions = map(Path, snakemake.input.data)
        vectors = next(iter(snakemake.input.vectors), None)
        read_contracts(
            contracts,
            questions,
            settings,
            weights,
            snakemake.output.predictions,
            vectors,
        )
