"""Write the opinions of one shard of case law, and a report of the cases and volumes
that were left out.

Rule `caselaw_opinions` (caselaw.smk).  A shard is a group of volumes, and ``record``
lists those that were fetched.  The zips are beside it; files of the former bulk export
stay where they are.  An unreadable volume is left out with ``skip``, and else fails the
job.
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
