"""One table or figure of a paper: csv, md, html, and svg for a figure."""

from importlib import import_module
from pathlib import Path

from lextables.papers.packages import load
from lextables.pipeline.atomic import write_text
from lextables.pipeline.job import job
from lextables.tables import comparison, published, render
from lextables.tables.cells import build, to_csv
from lextables.tables.inputs import (
    Inputs,
    comparable,
    explained,
    provenance,
    rows_that_ran,
)

with job(snakemake.log[0]):
    paper, name = snakemake.wildcards.paper, snakemake.wildcards.table
    registry = load(snakemake.input.paper)
    words, census = snakemake.params.words, Path(snakemake.input.census)
    sources, root = provenance(census, words), Path(snakemake.params.root)
    inputs = Inputs(
        data=census.parent,
        root=root,
        rows=rows_that_ran(snakemake.params.rows, root),
        published=[
            cell
            for cell in published.load(snakemake.input.published)
            if cell.table == name
        ],
        paper=registry,
        name=name,
        beside={
            path.parent.name: comparable(provenance(path, words))
            for path in map(Path, snakemake.input.beside)
        },
        absent=snakemake.params.absent,
        file=next(map(Path, snakemake.input.file), None),
    )
    cells = list(import_module(f"lextables.papers.{paper}.tables").cells(name, inputs))
    entry = registry.tables[name]
    lines = build(
        inputs.published, explained(cells, inputs), comparable(sources), entry.why_off
    )

    svg = ""
    if entry.kind:
        from lextables.tables import (
            figures,
        )  # loads matplotlib, which tables do not need

        svg = figures.draw(entry.kind, lines, entry.title, comparable(sources))
    # Other data than the paper's allow no conclusion about its values.
    pairs = comparison.compare(
        cells, inputs.published if comparable(sources) else (), inputs.units
    )
    note = render.data_note(sources)
    compared = comparison.notes(comparison.comparisons(pairs), note)
    about = render.About(
        entry.title, entry.where, [*entry.notes, *compared], note, name
    )
    figure = f"{name}.svg" if svg else ""
    write_text(snakemake.output.comparison, comparison.to_csv(pairs))
    write_text(snakemake.output.csv, to_csv(lines, note))
    write_text(snakemake.output.md, render.markdown(about, lines, figure))
    write_text(snakemake.output.html, render.html(about, lines, svg))
    if svg:
        write_text(snakemake.output.svg, svg)
