"""Write the parentheticals of all shards, with their pincites and the cited pages, and
their census.

Rule `lawngnli_parenthetical_set` (lawngnli.smk).  Each input has files of all shards:
``parentheticals``, the ``counts`` of the steps before, and the ``provenance`` of the
volumes.
"""

from itertools import chain

from lextables.papers.lawngnli.census import check_examples_left, total, volume_sources
from lextables.papers.lawngnli.premises.entail_examples import PARENTHETICALS
from lextables.pipeline.dataset import census, read, write, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    inputs = snakemake.input
    output = snakemake.output
    # The sums over the shards.  steps.funnel is {step: number of candidates after it}.
    steps = total(map(read_json, inputs.counts))
    check_examples_left(steps.funnel.items())
    rows = chain.from_iterable(map(read, inputs.parentheticals))
    write(PARENTHETICALS, rows, output.parentheticals)
    counts_of_table = census(PARENTHETICALS, output.parentheticals)
    write_census(
        output.census,
        {
            "data": {PARENTHETICALS.name: counts_of_table},
            "notes": steps.counts,
            "funnel": list(steps.funnel.items()),
            "sources": volume_sources(map(read_json, inputs.provenance)),
        },
    )
