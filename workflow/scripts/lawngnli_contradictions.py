"""Difficulty filters and contradictions for one shard of parentheticals (A.1.3, A.1.5,
A.1.6).
"""

from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.hypotheses.contradictions import write_contradictions
from lextables.papers.lawngnli.hypotheses.parsers import parser
from lextables.papers.lawngnli.steps import write_counts
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    chosen = snakemake.params.parser
    # Only some parsers have weights.
    options = {"model": weights_folder(chosen)} if chosen["weights"] else {}
    counts = write_contradictions(
        snakemake.input.parentheticals,
        parser(chosen["name"], **options),
        snakemake.params.seed,
        snakemake.output.contradictions,
        filtered=snakemake.params.filtered,
    )
    write_counts(counts, snakemake.output.counts)
