"""Cut the short premises of one shard of candidates, and apply the accuracy filters
(A.1.1, A.1.2).

Rule `lawngnli_parentheticals` (lawngnli.smk).  ``index`` finds the cited case of a
candidate: a row of the opinions of any shard.  ``opinions`` is the folder of all
shards' opinions.
"""

from pathlib import Path

from lextables.papers.lawngnli.citations.case_index import CaseIndex
from lextables.papers.lawngnli.hypotheses.accuracy import tokens_of
from lextables.papers.lawngnli.premises.entail_examples import (
    MajorityOpinions,
    write_parentheticals,
)
from lextables.papers.lawngnli.steps import write_counts
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    index = CaseIndex(snakemake.input.index)
    counts = write_parentheticals(
        snakemake.input.candidates,
        index,
        MajorityOpinions(
            [Path(snakemake.params.opinions, shard) for shard in index.shards]
        ),
        tokens_of(),
        snakemake.output.parentheticals,
    )
    write_counts(counts, snakemake.output.counts)
