"""Write the page of overlaps: shares, units, and scores on the test units without
overlap.

Rule `overlaps_page` (overlaps.smk).  ``root`` is the folder of the results, whose runs
are used as far as they exist.  ``benchmarks`` are the tables with a headline score, as
values of `Benchmark`.
"""

from pathlib import Path

import pandas as pd

from lextables.pipeline.atomic import write_text
from lextables.pipeline.dataset import read_table
from lextables.pipeline.files import damage_named, verify
from lextables.pipeline.job import job
from lextables.report import overlaps
from lextables.report.without_overlap import Benchmark, scores_without

with job(snakemake.log[0]) as log:
    root = Path(snakemake.params.root)
    units = read_table(snakemake.input.units).to_pandas()
    with damage_named(snakemake.input.csv):
        verify(snakemake.input.csv)
        table = pd.read_csv(snakemake.input.csv)
    with damage_named(snakemake.input.labels):
        verify(snakemake.input.labels)
        # An empty label is an empty text here, not NaN.  The other table has no empty
        # cells.
        labels = pd.read_csv(snakemake.input.labels, keep_default_na=False)
    # (data set, split) pairs whose texts were compared with test units.
    compared_splits = {*zip(table.other_dataset, table.other_split, strict=True)}
    rows = []
    for values in snakemake.params.benchmarks:
        benchmark = Benchmark(**values)
        log.info("Scoring %s without overlap.", benchmark.name)
        rows += scores_without(benchmark, units, compared_splits, root)
    scores = pd.DataFrame(rows)
    shares = table.assign(share=(table.shared / table.words).fillna(0))
    svg, html = overlaps.page(shares, units, scores, labels)
    write_text(snakemake.output.svg, svg)
    write_text(snakemake.output.html, html)
    write_text(snakemake.output.scores, scores.to_csv(index=False, lineterminator="\n"))
