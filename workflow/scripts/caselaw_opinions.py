"""Write the opinions of one shard of case law, and a report of the cases and volumes
that were left out.
"""

import json
from pathlib import Path

from lextables.corpora.caselaw import ingest
from lextables.pipeline.files import read_json, write_result
from lextables.pipeline.job import job

with job(snakemake.log[0]) as log:
    record_path = Path(snakemake.input.record)
    record = read_json(record_path, ingest.FetchedVolumes)
    volumes = ingest.paths(record, record_path.parent)
    ingested = ingest.write_opinions(
        volumes, snakemake.output.opinions, skip_unreadable=snakemake.params.skip
    )
    report = ingest.report(record, ingested)
    for fault in report["faults"]:
        log.info("%s", fault)
    write_result(
        snakemake.output.report, json.dumps(report, indent=1, ensure_ascii=False) + "\n"
    )
