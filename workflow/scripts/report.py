"""Every table and figure on one page."""

from pathlib import Path

import yaml

from lextables.atomic import write_text
from lextables.job import job
from lextables.tables import report
from lextables.version import made_by, words

with job(snakemake.log[0]):
    root, earlier = Path(snakemake.params.root), snakemake.params.earlier
    config = yaml.safe_load(Path(snakemake.input.config).read_text(encoding="utf-8"))
    made = {Path(census).parent.name for census in snakemake.input.census}
    registries, wordings = {Path(path).stem: path for path in snakemake.input.papers}, snakemake.params.words
    parts = [
        report.read_part(paper, registry, root, wordings[paper], earlier=paper not in made)
        for paper, registry in registries.items()
    ]
    runs = [report.read_run(path) for path in snakemake.input.runs]
    runs += [report.read_run(root / path, earlier=True) for path in earlier if path.startswith("runs/")]
    runs.sort(key=lambda run: run.place)
    text = report.page(config, [part for part in parts if part], runs, words(made_by()))
    write_text(snakemake.output[0], text)
