"""Volumes of case law to one file of opinions, with a report of what was set aside."""

import json
from pathlib import Path

from lextables.atomic import write_text
from lextables.caselaw import shard
from lextables.caselaw.ingest import write_opinions
from lextables.job import job

with job(snakemake.log[0]) as log:
    source = Path(snakemake.input[0])
    record = json.loads(source.read_text(encoding="utf-8"))
    volumes = shard.paths(record, source.parent)
    done = write_opinions(volumes, snakemake.output.opinions, set_aside=snakemake.params.skip)
    faults = [f"{volume}: it could not be had; the volume is set aside." for volume in record["absent"]]
    faults += [f"{fault}" for fault in done.faults]
    for fault in faults:
        log.info("%s", fault)
    set_aside = [*record["absent"], *map(shard.name, done.set_aside)]
    report = {"opinions": done.opinions, "set_aside": set_aside, "faults": faults}
    write_text(snakemake.output.report, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
