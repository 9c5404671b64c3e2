"""Volumes of case law to one file of opinions, with a report of what was set aside."""

import json
from pathlib import Path

from lextables.corpora.caselaw import ingest
from lextables.pipeline.files import read_json, write_result
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    source = Path(snakemake.input[0])
    record = read_json(source, ingest.FetchedVolumes)
    volumes = ingest.paths(record, source.parent)
    done = ingest.write_opinions(
        volumes, snakemake.output.opinions, set_aside=snakemake.params.skip
    )
    report = ingest.report(record, done)
    for fault in report["faults"]:
        log.info("%s", fault)
    write_result(
        snakemake.output.report, json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    )
