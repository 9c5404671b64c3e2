"""The four tables of ACORD's data set: clauses, queries, judgements, and the finer
ratings of the supplement.
"""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

CLAUSES = Table(
    "clauses",
    "The clause corpus, in order of clause id.",
    (
        Column("clause_id", pa.string(), "identifier in the release (corpus-id)"),
        Column("text", pa.string(), "the clause as released"),
        Column("words", pa.int32(), "words in the text, split at white space"),
    ),
    key=("clause_id",),
)
QUERIES = Table(
    "queries",
    "The attorney-written queries, numbered as in Table C-1.",
    (
        Column(
            "number",
            pa.int32(),
            "1-based position in the query sheet, which is that of Table C-1",
        ),
        Column("query_id", pa.string(), "identifier in the release (query-id)"),
        Column("short", pa.string(), "the query as used in the paper's experiments"),
        Column("medium", pa.string(), "the medium format (Appendix E)"),
        Column("long", pa.string(), "the long format (Appendix E)"),
        Column(
            "category",
            pa.string(),
            "clause category, as the paper's Table C-3 prints it",
        ),
        Column(
            "split", pa.string(), "train, valid or test; queries are split, not clauses"
        ),
        Column("origin", pa.string(), "the release's `type`: cuad1 or cuad2"),
    ),
    key=("number",),
    labels=("category", "split", "origin"),
)
JUDGEMENTS = Table(
    "judgements",
    "Every rated query-clause pair; a pair that is absent is unknown, not irrelevant (Appendix C.5.2).",
    (
        Column("query_id", pa.string(), "the query"),
        Column("clause_id", pa.string(), "the clause"),
        Column("split", pa.string(), "the query's split"),
        Column("score", pa.int8(), "gain for NDCG: 0 to 4, the stars less one"),
        Column(
            "stars", pa.int8(), "attorneys' rating: 1 (irrelevant) to 5 (exemplary)"
        ),
    ),
    key=("query_id", "clause_id"),
    labels=("split", "stars"),
)
RATINGS = Table(
    "ratings",
    "Mean ratings in thirds from the supplementary sheet of 2- to 5-star pairs.",
    (
        Column("sheet", pa.string(), "name of the sheet"),
        Column("column", pa.int32(), "1-based column of the clause in the sheet"),
        Column("row", pa.int32(), "1-based row of the clause in the sheet"),
        Column("query_id", pa.string(), "the query the column is headed with"),
        Column(
            "clause_id",
            pa.string(),
            "the judged clause with this text, if there is one",
            nullable=True,
        ),
        Column("text", pa.string(), "the clause as it stands in the sheet"),
        Column(
            "rating", pa.float64(), "mean of three expert ratings, 2 to 5, in stars"
        ),
    ),
    key=("sheet", "column", "row"),
)
TABLES = {"acord": (CLAUSES, QUERIES, JUDGEMENTS, RATINGS)}
