"""Write the report: a static site with a page for every table, run and data set.

Rule `report` (report.smk).  ``root`` is the folder of the results.  ``census`` are the
censuses of the papers' own data sets, ``data`` those of the others, and ``runs`` the
records of all runs.
"""

from pathlib import Path

import yaml

from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.pipeline.version import day, made_by, version_text
from lextables.registry import modules
from lextables.report import datasets, headlines, leaderboard, results, site

with job(snakemake.log[0]):
    root = Path(snakemake.params.root)
    # {file in the results that another configuration made: its digest}.  Such files are
    # shown, but not made again.
    earlier = snakemake.params.earlier
    source_texts = snakemake.params.source_texts
    parts, runs = results.read_all(
        root,
        papers=snakemake.input.papers,
        published_values=snakemake.input.published,
        texts=source_texts,
        censuses=snakemake.input.census,
        runs=snakemake.input.runs,
        earlier=earlier,
    )
    # The registry's texts on the sources of all papers together.
    texts = {}
    for source_texts_of_paper in source_texts.values():
        texts.update(source_texts_of_paper)
    censuses = [*snakemake.input.census, *snakemake.input.data]
    censuses += [root / path for path in earlier if path.endswith("/census.json")]
    sections = {}
    # A part is one paper.  Some papers have sections in addition to their tables.
    for part in parts:
        if modules.has(part.name, "exhibits"):
            exhibits = modules.module(part.name, "exhibits")
            sections[part.name] = exhibits.sections(root / "data")
    material = site.Material(
        config=yaml.safe_load(Path(snakemake.input.config).read_text(encoding="utf-8")),
        root=root.as_posix(),
        parts=parts,
        runs=runs,
        datasets=[datasets.read(path, texts) for path in sorted(map(Path, censuses))],
        sections=sections,
        leaderboard=leaderboard.pages(parts, snakemake.params.trained_on),
        findings=headlines.findings(parts, frozenset(snakemake.params.own_rows)),
        made_by=version_text(made_by()),
        date=day(),
    )
    site.write(Path(snakemake.output[0]).parent, material)
    # The output is only a mark, written last: the site is complete.
    write_text(snakemake.output[0], "")
