"""Volumes of case law to one file of opinions, with a report of what was set aside."""

import json
from pathlib import Path

from lextables.atomic import write_text
from lextables.caselaw.ingest import write_opinions
from lextables.job import job

with job(snakemake.log[0]) as log:
    volumes = [Path(snakemake.input.volumes) / f"{volume}.zip" for volume in snakemake.params.volumes]
    done = write_opinions(volumes, snakemake.output.opinions, set_aside=snakemake.params.skip)
    faults = [f"{fault}" for fault in done.faults]
    for fault in faults:
        log.info("%s", fault)
    report = {"opinions": done.opinions, "set_aside": list(done.set_aside), "faults": faults}
    write_text(snakemake.output.report, json.dumps(report, indent=1, ensure_ascii=False) + "\n")
