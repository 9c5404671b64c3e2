"""The schemas of what models are shown of LawngNLI's examples (Section 4.1)."""

from dataclasses import replace

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table
from lextables.tasks.classification import schema

PAIRS = Table(
    "examples",
    "The examples, once a head; premises and hypotheses are texts.",
    (
        Column("example_id", pa.string(), "`<example>[:twin]:<head>`, and a number of two labels"),
        Column("example", pa.string(), "`<example>[:twin]`, one premise with one hypothesis"),
        Column("split", pa.string(), "train, val or test"),
        Column("head_id", pa.string(), "`nli` of three labels, or `entailment` of two"),
        Column("label", pa.int32(), "place of the right answer among the head's"),
        Column("short", pa.string(), "text: the cited pages without citations"),
        Column("short_bm25", pa.string(), "text: the paragraphs of `short` nearest to the hypothesis"),
        Column("long", pa.string(), "text: the opinion without citations, its end once more before it"),
        Column("long_bm25", pa.string(), "text: the paragraphs of the opinion nearest to the hypothesis"),
        Column("hypothesis", pa.string(), "text: the statement to judge"),
        Column("premise", pa.string(), "the case whose opinion the premise is"),
        Column(
            "reading", pa.string(), "what resources/readings calls the pair of short premise and hypothesis"
        ),
        Column("analysis", pa.bool_(), "whether it is of the analysis subset, all that the paper uses"),
        Column("negated", pa.bool_(), "whether it is, and its hypothesis has pivotal negation"),
        Column("above_median", pa.bool_(), "whether it is, and longer than its training examples' median"),
        Column("difficult", pa.bool_(), "whether the filters of A.1.6 pass it or what it is the twin of"),
    ),
    key=("example_id",),
    labels=("split", "head_id", "analysis", "negated"),
)
HEADS = schema.HEADS
# In the order of their premises, one of which is in memory at a time.
TEXTS = replace(schema.TEXTS, ordered=False)
TABLES = (PAIRS, HEADS, TEXTS)
