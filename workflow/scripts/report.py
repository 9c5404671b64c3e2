"""Every table and figure, every run and every data set as a site that opens from disk."""

from pathlib import Path

import yaml

from lextables.papers import modules
from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.pipeline.version import day, made_by, words
from lextables.report import datasets, leaderboard, results, site

with job(snakemake.log[0]):
    root, earlier = Path(snakemake.params.root), snakemake.params.earlier
    config = yaml.safe_load(Path(snakemake.input.config).read_text(encoding="utf-8"))
    wordings = snakemake.params.words
    shown, runs = results.read_all(
        root,
        snakemake.input.papers,
        wordings,
        snakemake.input.census,
        snakemake.input.runs,
        earlier,
    )
    said = {
        name: about for wording in wordings.values() for name, about in wording.items()
    }
    censuses = {*map(Path, [*snakemake.input.census, *snakemake.input.data])}
    censuses |= {root / path for path in earlier if path.endswith("/census.json")}
    site.write(
        Path(snakemake.output[0]).parent,
        site.Material(
            config=config,
            root=root.as_posix(),
            parts=shown,
            runs=runs,
            datasets=[datasets.read(path, said) for path in sorted(censuses)],
            sections={
                part.name: modules.module(part.name, "exhibits").sections(root / "data")
                for part in shown
                if modules.has(part.name, "exhibits")
            },
            leaderboard=leaderboard.pages(shown, snakemake.params.trained_on),
            made_by=words(made_by()),
            date=day(),
        ),
    )
    write_text(snakemake.output[0], "")
