"""Print the number of published cells by verdict (match, near, off, not run, none), table by table."""

from pathlib import Path

from lextables.pipeline.files import damage_named
from lextables.pipeline.job import job
from lextables.tables.cells import count, from_csv

with job(snakemake.log[0]):
    for path in map(Path, snakemake.params.tables):
        if path.suffixes != [".csv"]:
            continue
        with damage_named(path):
            totals = count(from_csv(path.read_text(encoding="utf-8")))
        parts = []
        for verdict, number in totals.items():
            if number:
                parts.append(f"{number} {verdict or 'without a verdict'}")
        print(f"{path.parent.name} {path.stem}: {', '.join(parts)}")
