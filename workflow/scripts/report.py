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
    parts = [
        report.read_part(
            Path(registry).stem,
            registry,
            root,
            snakemake.params.words[Path(registry).stem],
            earlier=Path(registry).stem not in config["papers"],
        )
        for registry in snakemake.input.papers
    ]
    runs = [report.read_run(path) for path in snakemake.input.runs]
    runs += [report.read_run(root / path, earlier=True) for path in earlier if path.startswith("runs/")]
    runs.sort(key=lambda run: run.place)
    text = report.page(config, [part for part in parts if part], runs, words(made_by()))
    write_text(snakemake.output[0], text)
