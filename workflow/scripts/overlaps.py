"""How much text the splits of all data sets share."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from lextables.corpora.overlaps import compare, index
from lextables.pipeline.atomic import replacing, write_text
from lextables.pipeline.job import job
from lextables.report import overlaps

with job(snakemake.log[0]) as log, TemporaryDirectory() as folder:
    splits = []
    for dataset, texts in snakemake.params.texts.items():
        splits += index(
            dataset, overlaps.read_texts(Path(snakemake.params.data) / dataset, texts), Path(folder)
        )
    log.info("%d splits with %d words.", len(splits), sum(sum(split.words) for split in splits))
    units = pd.concat(compare(splits), ignore_index=True)
    table = overlaps.pairs(splits, units)
    svg, html = overlaps.page(table, units)
    with replacing(snakemake.output.units) as path:
        units.to_parquet(path, index=False)
    write_text(snakemake.output.csv, table.to_csv(index=False, float_format="%.4f", lineterminator="\n"))
    write_text(snakemake.output.svg, svg)
    write_text(snakemake.output.html, html)
