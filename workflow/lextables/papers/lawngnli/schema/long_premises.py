"""The schema of the long premises, of one shard and of the finished data set (A.1.9)."""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

LONG_PREMISES = Table(
    name="long_premises",
    description="The majority opinion of each cited case; examples name it by `cited_case_id`.",
    columns=(
        Column("case_id", pa.int64(), "the case"),
        Column("opinion_id", pa.string(), "its single majority opinion"),
        Column("original", pa.string(), "the opinion's text, to which all offsets refer"),
        Column("text", pa.string(), "the opinion without citations (A.1.9), nothing prepended"),
        Column("tokens", pa.int32(), "RoBERTa tokens of `text`, the two special tokens among them"),
        Column(
            "closing_paragraphs",
            pa.int32(),
            "how many paragraphs from the end models get prepended (512 tokens)",
        ),
    ),
    key=("case_id",),
    row_group=64,
)
