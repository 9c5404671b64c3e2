"""Contribution of each test unit to a run's scores: `units.parquet` next to
`scores.parquet`.

Separate from `pipeline.run`, which trainings also import: a change here must not rerun
trainings.
"""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

UNITS = Table(
    "units",
    "What each unit of the test set, such as a query or a contract, adds to a score.",
    (
        Column("metric", pa.string(), "as in the scores"),
        Column("group", pa.string(), "as in the scores"),
        Column(
            "unit",
            pa.string(),
            "the query, contract or document, which rows are paired by",
        ),
        Column(
            "value",
            pa.float64(),
            "its own score; of a score that is no mean, the jackknife's pseudo-value",
        ),
    ),
    key=("metric", "group", "unit"),
)
