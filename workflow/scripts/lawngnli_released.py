"""The released LawngNLI from the authors' ID files and the former bulk export."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from lextables.papers.lawngnli.released_dataset import RELEASED, chosen_bulk, write_released
from lextables.pipeline.dataset import census, write_census
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    bulk = chosen_bulk(snakemake.params.bulk)
    # A store of its own each time: cases of another export must not be found in it.
    with TemporaryDirectory(dir=snakemake.resources.tmpdir) as scratch:
        counts = write_released(
            snakemake.input.ids,
            snakemake.input.masks if snakemake.params.masks else None,
            bulk,
            Path(scratch) / "cases.sqlite",
            snakemake.output.released,
        )
    sources = [json.loads(Path(f"{path}.json").read_text(encoding="utf-8")) for path in snakemake.input]
    record = {
        "data": {"released": census(RELEASED, snakemake.output.released)},
        "notes": counts,
        "sources": sources,
    }
    write_census(snakemake.output.census, record)
    log.info("%s", counts)
