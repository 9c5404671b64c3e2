"""List all published rows: which have a value in the rehearsed tables, and why others
have none.

Also list the speeds of trainings on a GPU.

Rule `rehearsal` (rehearsal.smk).  ``tables`` are the files of all tables in all
formats, of which only the csv is read, and ``records`` are those of the planned runs.
"""

from pathlib import Path

from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import write_result
from lextables.pipeline.job import job
from lextables.report import rehearsal
from lextables.tables import published

with job(snakemake.log[0]):
    tables = {}  # {paper: {table: its csv}}
    for path in map(Path, snakemake.input.tables):
        # Neither another format nor `<table>.comparison.csv`.
        if path.suffixes == [".csv"]:
            tables.setdefault(path.parent.name, {})[path.stem] = path
    rows = []
    for path in map(Path, snakemake.input.published):
        cells = published.load(path)
        rows += rehearsal.rehearsed_rows(path.stem, cells, tables.get(path.stem, {}))
    write_result(snakemake.output.csv, rehearsal.to_csv(rows))
    write_text(snakemake.output.md, rehearsal.markdown(rows))
    records = map(Path, snakemake.params.records)
    write_text(snakemake.output.speeds, rehearsal.speeds(records))
