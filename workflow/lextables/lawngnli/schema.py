"""The written schemas of LawngNLI's tables, in the order in which they are built."""

import pyarrow as pa

from lextables.dataset import Column, Table

STRINGS = pa.list_(pa.field("item", pa.string(), False))
SPANS = pa.list_(
    pa.field(
        "item", pa.struct([pa.field("start", pa.int32(), False), pa.field("end", pa.int32(), False)]), False
    )
)

_CITING = (
    Column("example_id", pa.string(), "`<citing opinion_id>:<offset of the opening parenthesis>`"),
    Column("citing_case_id", pa.int64(), "the case whose opinion has the parenthetical"),
    Column("citing_jurisdiction", pa.string(), "its state, or `United States`"),
    Column("citing_date", pa.string(), "its date of decision: YYYY, YYYY-MM or YYYY-MM-DD"),
    Column("cited_case_id", pa.int64(), "the case that the parenthetical is about"),
    Column("cited_jurisdiction", pa.string(), "its state, or `United States`"),
    Column("citation", pa.string(), "the citation as matched, without the name and the pincite"),
    Column("kind", pa.string(), "full, short, id or supra"),
)
_PAGES = Column("pages", STRINGS, "labels of the pages that the pincite names, ascending")
_HISTORY = Column("history", pa.bool_(), 'whether the citation has a history flag, such as "cert. denied"')
_PARENTHETICAL = Column("parenthetical", pa.string(), "what stands between the parentheses, as printed")

CANDIDATES = Table(
    name="candidates",
    description="A.1.1: one row a parenthetical that resolves to a case, in the order of the opinions.",
    columns=(
        *_CITING[:4],
        Column("citing_type", pa.string(), "type of the citing opinion: majority, dissent and so on"),
        Column("met_again", pa.bool_(), "whether a later case has the citing case's party names"),
        *_CITING[4:],
        Column("pincite", pa.string(), "the pincite as matched", nullable=True),
        Column("pages", STRINGS, "labels of the pages that it names, ascending; empty if not resolvable"),
        Column("pages_of", pa.string(), "volume and reporter whose pages they are"),
        _HISTORY,
        _PARENTHETICAL,
        Column("following", pa.string(), "the parenthetical right behind this one, or empty"),
    ),
    key=("example_id",),
    labels=("kind", "citing_type"),
    ordered=False,
)

CITES = Table(
    name="cites",
    description="A.1.7: one row a pair of cases of the corpus of which the first cites the second.",
    columns=(
        Column("citing_case_id", pa.int64(), "the citing case"),
        Column("cited_case_id", pa.int64(), "the cited case"),
    ),
    key=("citing_case_id", "cited_case_id"),
)

PARENTHETICALS = Table(
    name="parentheticals",
    description="A.1.1 and A.1.2: one row an Entail example before its negation is looked at.",
    columns=(
        *_CITING,
        Column("pincite", pa.string(), "the pincite as matched"),
        _PAGES,
        _HISTORY,
        _PARENTHETICAL,
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
