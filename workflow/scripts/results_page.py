"""The results page with its figure, and README with the page's summary."""

import time
from pathlib import Path

import yaml

from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.report import results, summary

with job(snakemake.log[0]):
    root, found = Path(snakemake.params.root), snakemake.input
    parts, runs = results.read_all(
        root,
        found.papers,
        snakemake.params.words,
        found.census,
        found.runs,
        snakemake.params.earlier,
    )
    times = [(root / run.folder / "run.json").stat().st_mtime for run in runs]
    material = summary.Material(
        config=yaml.safe_load(Path(found.config).read_text(encoding="utf-8")),
        parts=parts,
        runs=runs,
        date=time.strftime("%Y-%m-%d", time.gmtime(max(times, default=0))),
        baselines=frozenset(snakemake.params.baselines),
        needs=snakemake.params.needs,
    )
    readme = Path(found.readme).read_text(encoding="utf-8")
    write_text(snakemake.output.page, summary.page(material))
    write_text(snakemake.output.picture, summary.picture(material))
    write_text(
        snakemake.output.readme, summary.with_summary(readme, summary.summary(material))
    )
