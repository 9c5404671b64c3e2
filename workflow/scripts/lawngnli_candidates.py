"""Write the parentheticals of one shard of opinions that resolve to a case of the
corpus (A.1.1), and all pairs of a citing and a cited case.

Rule `lawngnli_candidates` (lawngnli.smk).  ``index`` is the folder that
lawngnli_index.py writes: all cases by citation and by parties.
"""

from lextables.papers.lawngnli.citations.candidates import write_candidates
from lextables.papers.lawngnli.citations.case_index import CaseIndex
from lextables.papers.lawngnli.citations.resolution import tokenizer
from lextables.papers.lawngnli.steps import write_counts
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    # Finds citations.  Its compiled patterns are in this machine's cache, outside the
    # results.
    tokens = tokenizer()
    output = snakemake.output
    counts = write_candidates(
        snakemake.input.opinions,
        CaseIndex(snakemake.input.index),
        tokens,
        path=output.candidates,
        cites=output.cites,
    )
    write_counts(counts, output.counts)
