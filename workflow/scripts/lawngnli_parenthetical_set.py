"""The parentheticals of all shards, with their pincites and the pages cited, and their census."""

from itertools import chain

from lextables.papers.lawngnli.census import check_left, total, volume_sources
from lextables.papers.lawngnli.premises.entail_examples import PARENTHETICALS
from lextables.pipeline.dataset import census, read, write, write_census
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    inputs = snakemake.input
    output = snakemake.output
    counted = total(map(read_json, inputs.counts))
    check_left(counted.funnel.items())
    write(
        PARENTHETICALS,
        chain.from_iterable(map(read, inputs.parentheticals)),
        output.parentheticals,
    )
    write_census(
        output.census,
        {
            "data": {
                PARENTHETICALS.name: census(PARENTHETICALS, output.parentheticals)
            },
            "notes": counted.counts,
            "funnel": list(counted.funnel.items()),
            "sources": volume_sources(map(read_json, inputs.provenance)),
        },
    )
