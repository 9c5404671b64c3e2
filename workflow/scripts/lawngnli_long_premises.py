"""The opinions of one shard that are premises, with their citations taken out (A.1.9)."""

from lextables.job import job
from lextables.lawngnli.case_index import CaseIndex
from lextables.lawngnli.construction import cited_cases, write_long_premises
from lextables.lawngnli.premises import MajorityOpinions

with job(snakemake.log[0]):
    write_long_premises(
        cited_cases(snakemake.input.contradictions, snakemake.input.parentheticals),
        snakemake.params.number,
        CaseIndex(snakemake.input.index),
        MajorityOpinions(snakemake.input.opinions),
        snakemake.output[0],
    )
