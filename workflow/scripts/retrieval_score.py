"""Score the hits of one run on the test queries."""

from lextables.pipeline.dataset import read, write
from lextables.pipeline.job import job
from lextables.pipeline.run import SCORES
from lextables.pipeline.units import UNITS
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval.scoring import by_query, scores

with job(snakemake.log[0]):
    data = collection.load(snakemake.input.data, snakemake.params.task)
    found = scores(read(snakemake.input.predictions), data, snakemake.params.queries)
    write(SCORES, found, snakemake.output.scores)
    write(UNITS, by_query(found, data), snakemake.output.units)
