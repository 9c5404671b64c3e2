"""The written schemas of the second half of LawngNLI's construction (Appendices A.1.3 to A.1.9)."""

import pyarrow as pa

from lextables.dataset import Column, Table
from lextables.lawngnli.schema import SPANS, STRINGS

_OUTCOME = (
    Column("fault", pa.string(), "the difficulty filter that drops the hypothesis (A.1.6)", nullable=True),
    Column("rejection", pa.string(), "why the contradiction algorithm rejects it (A.1.3)", nullable=True),
    Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation", nullable=True),
    Column("twin", pa.string(), "the hypothesis that contradicts it (A.1.5)", nullable=True),
)
_WHOSE = (
    Column("example_id", pa.string(), "`<citing opinion_id>:<offset of the opening parenthesis>`"),
    Column("citing_case_id", pa.int64(), "the case whose opinion has the parenthetical"),
    Column("citing_jurisdiction", pa.string(), "its state, or `United States`"),
)
_PREMISE = (
    Column("cited_case_id", pa.int64(), "the case whose majority opinion is the premise"),
    Column("cited_jurisdiction", pa.string(), "its state, or `United States`"),
    Column("pages", STRINGS, "labels of the pages that the short premise is from"),
)
_PLACE = (
    Column("premise_start", pa.int32(), "offset of the short premise in the opinion's original text"),
    Column("premise_end", pa.int32(), "offset after it"),
    Column("premise_spans", SPANS, "the offsets of its parts, where the pages are not consecutive"),
)

CONTRADICTIONS = Table(
    name="contradictions",
    description="A.1.3, A.1.5 and A.1.6: one row an Entail candidate, in the order of the parentheticals.",
    columns=(
        _WHOSE[0],
        *_OUTCOME,
        Column("rule", pa.string(), "the rule of the algorithm that changed it", nullable=True),
        Column("kind", pa.string(), "what the rule did", nullable=True),
    ),
    key=("example_id",),
    labels=("rule", "negated"),
    ordered=False,
)

UNFILTERED = Table(
    name="unfiltered",
    description="All Entail candidates before difficulty filters, neutralization and balance, untwinned.",
    columns=(
        *_WHOSE,
        *_PREMISE,
        Column("hypothesis", pa.string(), "the parenthetical after A.1.2"),
        Column("short_premise", pa.string(), "the cited pages in whole paragraphs, citations in them"),
        *_PLACE,
        *_OUTCOME,
    ),
    key=("example_id",),
    labels=("fault", "negated"),
    ordered=False,
)

EXAMPLES = Table(
    name="examples",
    description="LawngNLI: an example, then its twin with the same premise and the opposite hypothesis.",
    columns=(
        *_WHOSE,
        Column("is_twin", pa.bool_(), "whether this is the contradictory twin of the example before it"),
        Column("split", pa.string(), "train, val or test; a pair of twins is never parted"),
        Column("analysis", pa.bool_(), "whether the long premise has at most 4,096 RoBERTa tokens"),
        Column("label", pa.string(), "entail, neutral or contradict"),
        Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
        Column("hypothesis", pa.string(), "the statement to judge"),
        *_PREMISE,
        Column("premise_example_id", pa.string(), "the example that the premise comes from"),
        Column("short_premise", pa.string(), "the short premise without citations"),
        Column("short_premise_original", pa.string(), "the short premise as it stands in the opinion"),
        *_PLACE,
    ),
    key=("example_id", "is_twin"),
    labels=("split", "analysis", "label", "negated"),
)

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
