"""Write the results page with its figure, and README with the page's summary.

Rule `results_page` (report.smk).  ``root`` is the folder of the results; files of
earlier runs in it are not shown.  ``baselines``, ``systems`` and ``needs`` are
described in `planning.report.Report`.
"""

import time
from pathlib import Path

import yaml

from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.report import results, summary

with job(snakemake.log[0]):
    root = Path(snakemake.params.root)
    params = snakemake.params
    parts, runs = results.read_all(
        root,
        papers=snakemake.input.papers,
        published_values=snakemake.input.published,
        texts=params.source_texts,
        censuses=snakemake.input.census,
        runs=snakemake.input.runs,
        earlier=(),
    )
    parts = results.parts_of_run(parts, root, snakemake.input.tables)
    # The page has the day of the last run.
    times = [(root / run.folder / "run.json").stat().st_mtime for run in runs]
    material = summary.Material(
        config=yaml.safe_load(Path(snakemake.input.config).read_text(encoding="utf-8")),
        parts=parts,
        runs=runs,
        date=time.strftime("%Y-%m-%d", time.gmtime(max(times, default=0))),
        baselines=frozenset(params.baselines),
        systems=params.systems,
        needs=params.needs,
    )
    readme = Path(snakemake.input.readme).read_text(encoding="utf-8")
    block = summary.summary(material)
    write_text(snakemake.output.page, summary.page(material))
    write_text(snakemake.output.picture, summary.picture(material))
    write_text(snakemake.output.readme, summary.with_summary(readme, block))
