"""Fetch the volumes of one shard of case law, and record their provenance.

Rule `caselaw_volumes` (caselaw.smk).  ``volumes`` are those of the shard, as
`<reporter>/<volume>`, or as a file of the former bulk export, which stays where it is.
The zips are stored beside the output ``record``.  An unavailable volume is left out
with ``skip``, and else fails the job.
"""

import json
from pathlib import Path

from lextables import ROOT
from lextables.corpora.caselaw.fetching import Source, fetch_volumes
from lextables.pipeline.config import Config
from lextables.pipeline.files import read_json, write_result
from lextables.pipeline.job import job
from lextables.sources.entries import load
from lextables.sources.transfer import Client

with job(snakemake.log[0]) as log:
    config = Config.model_validate(dict(snakemake.config))
    # With lawngnli_data=released a file names the cases of the released data set.  Only
    # volumes with one of them are fetched, and without this file all volumes.
    named_cases = None
    for path in snakemake.input.named_cases:
        named_cases = set(read_json(path, list[int]))
    source = Source(
        folder=Path(snakemake.output.record).parent,
        registry=load(*(ROOT / name for name in snakemake.params.registries)),
        mirrors=config.mirrors(ROOT),
        data=snakemake.params.data,
        bulk=Path(config.bulk_export),
        client=Client(minimum_rate=config.download_minimum_rate),
        say=log.info,
    )
    record = fetch_volumes(
        snakemake.params.volumes, source, skip=snakemake.params.skip, cases=named_cases
    )
    write_result(
        snakemake.output.record, json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    )
