"""The schema of the training set for rerankers that is derived from LawngNLI (Section 4.2, footnote 11)."""

from dataclasses import replace

import pyarrow as pa

from lextables.pipeline.dataset import Column
from lextables.tasks.classification import schema

EXAMPLES = replace(
    schema.EXAMPLES,
    description="LawngNLI's hypotheses, each with an opinion as published, cut to its nearest paragraphs.",
    columns=(
        *schema.EXAMPLES.columns,
        Column("pair_id", pa.string(), "the text of the hypothesis"),
        Column("opinion_id", pa.string(), "the opinion that the premise is of"),
        Column("analysis", pa.bool_(), "whether it is of the analysis subset, all that the paper uses"),
    ),
    labels=("split", "label", "analysis"),
)
HEADS = schema.HEADS
# In the order of the opinions that they are of.
TEXTS = replace(schema.TEXTS, ordered=False)
TABLES = (EXAMPLES, HEADS, TEXTS)
