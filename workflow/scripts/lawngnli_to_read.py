"""A hundred examples to read blind, for Table 4."""

import json
from pathlib import Path

from lextables.papers.lawngnli.readings import drawn, sheet
from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read
from lextables.pipeline.job import job

with job(snakemake.log[0]):
    census = json.loads(Path(snakemake.input.census).read_text(encoding="utf-8"))
    rows = drawn(list(read(snakemake.input.examples)), snakemake.params.seed)
    write_text(snakemake.output[0], sheet(rows, census["data"]["examples"]["rows_sha256"]))
