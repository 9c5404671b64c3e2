"""The page of overlaps: shares, units, and scores on the test units without overlap."""

from pathlib import Path

import pandas as pd

from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read_table
from lextables.pipeline.files import damage_named
from lextables.pipeline.job import job
from lextables.report import overlaps, without_overlap

with job(snakemake.log[0]) as log:
    units = read_table(snakemake.input.units).to_pandas()
    with damage_named(snakemake.input.csv):
        table = pd.read_csv(snakemake.input.csv)
    compared = {*zip(table.other_dataset, table.other_split, strict=True)}
    rows = []
    for benchmark in snakemake.params.benchmarks:
        log.info(
            "Scoring %s of %s without overlap.", benchmark["table"], benchmark["paper"]
        )
        rows += without_overlap.scores_without(
            benchmark, units, compared, Path(snakemake.params.root)
        )
    scores = pd.DataFrame(rows)
    shares = table.assign(share=(table.shared / table.words).fillna(0))
    svg, html = overlaps.page(shares, units, scores)
    write_text(snakemake.output.svg, svg)
    write_text(snakemake.output.html, html)
    write_text(snakemake.output.scores, scores.to_csv(index=False, lineterminator="\n"))
