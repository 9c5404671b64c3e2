"""The schemas of the retrieval data set that is derived from LawngNLI (Section 4.2)."""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

QUERIES = Table(
    name="queries",
    description="Section 4.2: the Entail and Contradict hypotheses of the test split's analysis subset.",
    columns=(
        Column("query_id", pa.string(), "the example's id, with `+twin` behind it for a twin"),
        Column("split", pa.string(), "test"),
        Column("label", pa.string(), "entail or contradict: what the target does to the query"),
        Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
        Column("jurisdiction", pa.string(), "state of the target and its pool, or `United States`"),
        Column("cited_case_id", pa.int64(), "the case whose majority opinion is the target"),
        Column("citing_case_id", pa.int64(), "the case that the hypothesis is from"),
        Column("text", pa.string(), "the hypothesis"),
    ),
    key=("query_id",),
    labels=("split", "label", "negated", "jurisdiction"),
)
DOCUMENTS = Table(
    name="documents",
    description="Section 4.2: the majority opinions that are in some query's pool.",
    columns=(
        Column("document_id", pa.string(), "the opinion, `<case_id>-<position>`"),
        Column("case_id", pa.int64(), "its case"),
        Column("jurisdiction", pa.string(), "state, or `United States` for federal courts"),
        Column("text", pa.string(), "the opinion as published, citations in it; a paragraph is a line"),
    ),
    key=("document_id",),
    labels=("jurisdiction",),
    ordered=False,
    row_group=64,
)
JUDGEMENTS = Table(
    name="judgements",
    description="Section 4.2: a query's pool, the target and the opinions that are most like the query.",
    columns=(
        Column("query_id", pa.string(), "the query"),
        Column("document_id", pa.string(), "an opinion of its pool"),
        Column("gain", pa.int8(), "1 for the target, 0 for any other"),
        Column("similarity", pa.float32(), "inner product of the hypothesis and the opinion"),
    ),
    key=("query_id", "document_id"),
    labels=("gain",),
)
