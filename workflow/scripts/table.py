"""Write one table or figure of a paper: csv, md and html, svg for a figure, and the
paired comparisons of its systems as csv.

Rules `table` and `figure` (tables.smk).  ``census`` is that of the table's data set,
``other_censuses`` those of other data sets that it shows, and ``training_censuses``
those of other data sets that its models learnt from.  ``rows`` are the planned rows
with the folders of their runs, and ``root`` is the folder of the results.
"""

from importlib import import_module
from pathlib import Path

from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import write_result
from lextables.pipeline.job import job
from lextables.registry.packages import load
from lextables.tables import comparison, published, render
from lextables.tables.cells import build, to_csv
from lextables.tables.inputs import (
    Inputs,
    by_training_data,
    comparable,
    data_note,
    explained,
    provenance,
    rows_that_ran,
)

with job(snakemake.log[0]):
    paper = snakemake.wildcards.paper
    name = snakemake.wildcards.table
    texts = snakemake.params.source_texts
    root = Path(snakemake.params.root)
    registry = load(snakemake.input.paper)  # the paper's file
    entry = registry.tables[name]
    # The published files behind the data set.  Values are compared if all of these are
    # the paper's.
    sources = provenance(snakemake.input.census, texts)
    is_comparable = comparable(sources)
    printed = published.load(snakemake.input.published)
    # For each other available data set that the table shows: whether it is the paper's.
    beside = {}
    for census in map(Path, snakemake.input.other_censuses):
        beside[census.parent.name] = comparable(provenance(census, texts))
    inputs = Inputs(
        data=Path(snakemake.input.census).parent,
        root=root,
        rows=rows_that_ran(snakemake.params.rows, root),
        published=[cell for cell in printed if cell.table == name],
        paper=registry,
        name=name,
        beside=beside,
        absent=snakemake.params.absent,
        file=next(map(Path, snakemake.input.user_file), None),
    )
    tables = import_module(f"lextables.papers.{paper}.tables")
    cells = list(tables.cells(name, inputs))  # the values that were computed here
    if is_comparable:
        # The data that models learnt from must be the paper's, too.
        comparable_data = {}
        for census in map(Path, snakemake.input.training_censuses):
            is_published = comparable(provenance(census, texts))
            comparable_data[census.parent.name] = is_published
        cells = list(by_training_data(cells, inputs.rows, comparable_data))
    # The published rows with both values and their verdicts, then additional rows.
    lines = build(
        inputs.published, explained(cells, inputs), is_comparable, entry.why_off
    )

    svg = ""
    figure_file = ""
    if entry.kind:
        # Loads matplotlib, which tables do not need.
        from lextables.tables import figures

        svg = figures.draw(entry.kind, lines, entry.title, is_comparable)
        figure_file = f"{name}.svg"
    # If the data are not the paper's, its published values are not compared.
    compared_values = inputs.published if is_comparable else ()
    pairs = comparison.compare(cells, compared_values, inputs.units)
    note = data_note(sources)
    differences = comparison.notes(comparison.comparisons(pairs), note)
    about = render.About(
        entry.title, entry.where, [*entry.notes, *differences], note, name
    )
    write_result(snakemake.output.comparison, comparison.to_csv(pairs))
    write_result(snakemake.output.csv, to_csv(lines, note))
    write_text(snakemake.output.md, render.markdown(about, lines, figure_file))
    write_text(snakemake.output.html, render.html(about, lines, svg))
    if svg:
        write_text(snakemake.output.svg, svg)
