"""Print the number of published values by kind and verdict, table by table and then
together.

Rule `check` (Snakefile).  ``tables`` are the files of all tables in all formats, of
which only the csv is read, and ``published`` is {paper: the file of its published
values}.  A value that the paper prints at several places counts at the first.
"""

from pathlib import Path

from lextables.pipeline.files import damage_named, verify
from lextables.pipeline.job import job
from lextables.report import wording
from lextables.tables.cells import from_csv
from lextables.tables.published import first_kinds, load

with job(snakemake.log[0]):
    # {paper: {table: {cell: kind}}}, of the cells where a value is printed first.
    kinds = {}
    for paper, path in snakemake.params.published.items():
        kinds[paper] = first_kinds(load(path))
    counts = []
    for path in map(Path, snakemake.params.tables):
        # Neither another format nor `<table>.comparison.csv`.
        if path.suffixes != [".csv"]:
            continue
        paper = path.parent.name
        with damage_named(path):
            verify(path)
            lines = from_csv(path.read_text(encoding="utf-8"))
        table_counts = wording.counts_of(lines, kinds[paper].get(path.stem, {}))
        counts.append(table_counts)
        print(f"{paper} {path.stem}: {wording.kinds_in_words(table_counts)}")
    print(f"all tables: {wording.kinds_in_words(wording.summed_by_kind(counts))}")
