"""Every table and figure on one page."""

from pathlib import Path

import yaml

from lextables.atomic import write_text
from lextables.job import job
from lextables.tables import report
from lextables.version import made_by, words

with job(snakemake.log[0]):
    config = yaml.safe_load(Path(snakemake.input.config).read_text(encoding="utf-8"))
    parts = [
        report.read_part(
            Path(registry).stem, registry, snakemake.params.root, snakemake.params.words[Path(registry).stem]
        )
        for registry in snakemake.input.papers
    ]
    runs = [report.read_run(path) for path in snakemake.input.runs]
    write_text(snakemake.output[0], report.page(config, parts, runs, words(made_by())))
