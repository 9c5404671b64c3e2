"""Write, for each hypothesis of one shard, the hypothesis that contradicts it, or why
there is none (A.1.3, A.1.5, A.1.6).

Rule `lawngnli_contradictions` (lawngnli.smk).  ``parser`` are the settings of the
parser (`construction.parser_settings`).  With ``filtered`` only hypotheses that pass
the difficulty filters are parsed.
"""

from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.hypotheses.contradictions import write_contradictions
from lextables.papers.lawngnli.hypotheses.parsers import parser
from lextables.papers.lawngnli.steps import write_counts
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    settings = snakemake.params.parser
    # Only some parsers have weights.
    weights = {"model": weights_folder(settings)} if settings["weights"] else {}
    counts = write_contradictions(
        snakemake.input.parentheticals,
        parser(settings["name"], **weights),
        snakemake.params.seed,
        snakemake.output.contradictions,
        filtered=snakemake.params.filtered,
    )
    write_counts(counts, snakemake.output.counts)
