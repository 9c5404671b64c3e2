"""Fetch the volumes of one shard of case law, and list what they are."""

import json
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from lextables import ROOT
from lextables.atomic import write_text
from lextables.config import Config
from lextables.job import job
from lextables.sources.fetch import fetch
from lextables.sources.registry import load, resolve

with job(snakemake.log[0]) as log:
    registry = load(snakemake.params.registry)
    mirrors = Config.model_validate(dict(snakemake.config)).mirrors(ROOT)
    found = []
    for volume in tqdm(snakemake.params.volumes, desc=snakemake.wildcards.shard, unit="volume"):
        wanted = resolve(registry, "caselaw", f"{volume}.zip")
        destination = Path(snakemake.output.volumes) / f"{volume}.zip"
        variants = wanted.variants_for(snakemake.params.data)
        found.append(fetch(wanted, destination, mirrors=mirrors, variants=variants, say=log.info))
    text = json.dumps([asdict(record) for record in found], indent=1, ensure_ascii=False)
    write_text(snakemake.output.provenance, text + "\n")
