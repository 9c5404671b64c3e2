"""One table or figure of a paper: csv, md, html, and svg for a figure."""

import json
from importlib import import_module
from pathlib import Path

from lextables.atomic import write_text
from lextables.job import job
from lextables.rooms import load
from lextables.sources.registry import reworded
from lextables.tables import published, render
from lextables.tables.cells import build, to_csv
from lextables.tables.inputs import Inputs

with job(snakemake.log[0]):
    paper, name = snakemake.wildcards.paper, snakemake.wildcards.table
    registry = load(snakemake.input.paper)
    census = json.loads(Path(snakemake.input.census).read_text(encoding="utf-8"))
    inputs = Inputs(
        data=Path(snakemake.input.census).parent,
        root=Path(snakemake.params.root),
        rows=snakemake.params.rows,
        published=[cell for cell in published.load(snakemake.input.published) if cell.table == name],
        paper=registry,
        name=name,
    )
    cells = import_module(f"lextables.{paper}.tables").cells(name, inputs)
    sources = reworded(census["sources"], snakemake.params.words)
    comparable = all(source["comparable"] for source in sources)
    lines = build(inputs.published, cells, comparable)

    entry = registry.tables[name]
    svg = ""
    if entry.kind:
        from lextables.tables import figures  # loads matplotlib, which no table needs

        svg = figures.draw(entry.kind, lines, entry.title, comparable)
    about = (entry.title, entry.where, lines, entry.notes, render.data_note(sources))
    write_text(snakemake.output.csv, to_csv(lines))
    write_text(snakemake.output.md, render.markdown(*about, name=name, figure=f"{name}.svg" if svg else ""))
    write_text(snakemake.output.html, render.html(*about, name=name, svg=svg))
    if svg:
        write_text(snakemake.output.svg, svg)
