"""Write the opinions of one shard that the released LawngNLI names, and the hypotheses
that come from them.

Rule `lawngnli_released_shard` (lawngnli_released.smk).  ``volumes`` is the record of
the shard's fetched volumes.  ``parser`` are the name and the weights of the parser, by
which a hypothesis is contradicted.
"""

from pathlib import Path

from lextables.corpora.caselaw import ingest
from lextables.models.weights import weights_folder
from lextables.papers.lawngnli.hypotheses.parsers import parser
from lextables.papers.lawngnli.released.hypotheses import write_shard
from lextables.pipeline.files import read_json
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    inputs = snakemake.input
    output = snakemake.output
    settings = snakemake.params.parser
    volumes = ingest.paths(
        read_json(inputs.volumes, ingest.FetchedVolumes), Path(inputs.volumes).parent
    )
    # Only some parsers have weights.
    weights = {"model": weights_folder(settings)} if settings["weights"] else {}
    write_shard(
        inputs.rows,
        volumes,
        parser(settings["name"], **weights),
        output.cases,
        output.hypotheses,
    )
