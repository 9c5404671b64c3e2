"""Score the hits of one run on the test queries."""

from lextables.acord.scores import scores
from lextables.dataset import read, write
from lextables.job import job
from lextables.run import SCORES

with job(snakemake.log[0]):
    queries, judgements = snakemake.input.data
    only = snakemake.params.queries
    shown = [query for query in read(queries) if only is None or query["query_id"] in only]
    write(SCORES, scores(read(snakemake.input.predictions), read(judgements), shown), snakemake.output[0])
