"""The schema of what becomes of the Entail candidates of one shard (A.1.3, A.1.5, A.1.6)."""

import pyarrow as pa

from lextables.papers.lawngnli.schema.columns import EXAMPLE_ID
from lextables.pipeline.dataset import Column, Table

OUTCOME = (
    Column("fault", pa.string(), "the difficulty filter that drops the hypothesis (A.1.6)", nullable=True),
    Column("rejection", pa.string(), "why the contradiction algorithm rejects it (A.1.3)", nullable=True),
    Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation", nullable=True),
    Column("twin", pa.string(), "the hypothesis that contradicts it (A.1.5)", nullable=True),
)

CONTRADICTIONS = Table(
    name="contradictions",
    description="A.1.3, A.1.5 and A.1.6: one row an Entail candidate, in the order of the parentheticals.",
    columns=(
        EXAMPLE_ID,
        *OUTCOME,
        Column("rule", pa.string(), "the rule of the algorithm that changed it", nullable=True),
        Column("kind", pa.string(), "what the rule did", nullable=True),
    ),
    key=("example_id",),
    labels=("rule", "negated"),
    ordered=False,
)
