"""The schemas of the finished examples, and of all candidates before the steps that drop some."""

import pyarrow as pa

from lextables.papers.lawngnli.schema.columns import CITING, SPANS, STRINGS
from lextables.papers.lawngnli.schema.contradictions import OUTCOME
from lextables.pipeline.dataset import Column, Table

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

UNFILTERED = Table(
    name="unfiltered",
    description="All Entail candidates before difficulty filters, neutralization and balance, untwinned.",
    columns=(
        *CITING,
        *_PREMISE,
        Column("hypothesis", pa.string(), "the parenthetical after A.1.2"),
        Column("short_premise", pa.string(), "the cited pages in whole paragraphs, citations in them"),
        *_PLACE,
        *OUTCOME,
    ),
    key=("example_id",),
    labels=("fault", "negated"),
    ordered=False,
)

_ANALYSIS = Column("analysis", pa.bool_(), "whether the long premise has at most 4,096 RoBERTa tokens")
_JUDGED = (
    Column("label", pa.string(), "entail, neutral or contradict"),
    Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
    Column("fault", pa.string(), "the difficulty filter that would drop it or its twin", nullable=True),
    Column("hypothesis", pa.string(), "the statement to judge"),
)
_FOUND_BY = Column("premise_example_id", pa.string(), "the example that the premise comes from")

# What stands on disk while the examples are made, a file for each jurisdiction.
LABELLED = Table(
    name="labelled",
    description="A.1.4: one row an example, still with the premise that its parenthetical cites.",
    columns=(
        *CITING,
        *_JUDGED,
        Column("twin", pa.string(), "the hypothesis that contradicts it (A.1.5)"),
        *_PREMISE,
        Column("short_premise", pa.string(), "the short premise as it stands in the opinion"),
        *_PLACE,
    ),
    key=("example_id",),
    ordered=False,
)
PAIRED = Table(
    name="paired",
    description="A.1.7: one row an example with its premise; of Neutral ones the premise is another's.",
    columns=(*LABELLED.columns, _ANALYSIS, _FOUND_BY),
    key=("example_id",),
    row_group=64,
)

EXAMPLES = Table(
    name="examples",
    description="LawngNLI: an example, then its twin with the same premise and the opposite hypothesis.",
    columns=(
        *CITING,
        Column("is_twin", pa.bool_(), "whether this is the contradictory twin of the example before it"),
        Column("split", pa.string(), "train, val or test; a pair of twins is never parted"),
        _ANALYSIS,
        *_JUDGED,
        *_PREMISE,
        _FOUND_BY,
        Column("short_premise", pa.string(), "the short premise without citations"),
        Column("short_premise_original", pa.string(), "the short premise as it stands in the opinion"),
        *_PLACE,
    ),
    key=("example_id", "is_twin"),
    labels=("split", "analysis", "label", "negated"),
)
