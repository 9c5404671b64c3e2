"""The schema of the Entail examples of one shard (A.1.1, A.1.2)."""

import pyarrow as pa

from lextables.papers.lawngnli.schema.candidates import CITED, CITING_DATE, PARENTHETICAL
from lextables.papers.lawngnli.schema.columns import CITING, SPANS, STRINGS
from lextables.pipeline.dataset import Column, Table

PARENTHETICALS = Table(
    name="parentheticals",
    description="A.1.1 and A.1.2: one row an Entail example before its negation is looked at.",
    columns=(
        *CITING,
        CITING_DATE,
        *CITED,
        Column("pincite", pa.string(), "the pincite as matched"),
        Column("pages", STRINGS, "labels of the pages that the pincite names, ascending"),
        *PARENTHETICAL,
        Column("hypothesis", pa.string(), "the parenthetical after A.1.2"),
        Column("short_premise", pa.string(), "the cited pages of the majority opinion in whole paragraphs"),
        Column("premise_start", pa.int32(), "offset of the short premise in the majority opinion's text"),
        Column("premise_end", pa.int32(), "offset after it"),
        Column("premise_spans", SPANS, "the offsets of its parts, where the pages are not consecutive"),
    ),
    key=("example_id",),
    labels=("kind",),
    ordered=False,
)
