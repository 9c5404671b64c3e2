"""The schemas of A.1.1's candidates and of the network of citations, one file of each a shard."""

import pyarrow as pa

from lextables.papers.lawngnli.schema.columns import CITING, STRINGS
from lextables.pipeline.dataset import Column, Table

CITING_DATE = Column("citing_date", pa.string(), "its date of decision: YYYY, YYYY-MM or YYYY-MM-DD")
CITED = (
    Column("cited_case_id", pa.int64(), "the case that the parenthetical is about"),
    Column("cited_jurisdiction", pa.string(), "its state, or `United States`"),
    Column("citation", pa.string(), "the citation as matched, without the name and the pincite"),
    Column("kind", pa.string(), "full, short, id or supra"),
)
PARENTHETICAL = (
    Column("history", pa.bool_(), 'whether the citation has a history flag, such as "cert. denied"'),
    Column("parenthetical", pa.string(), "what stands between the parentheses, as printed"),
)

CANDIDATES = Table(
    name="candidates",
    description="A.1.1: one row a parenthetical that resolves to a case, in the order of the opinions.",
    columns=(
        *CITING,
        CITING_DATE,
        Column("citing_type", pa.string(), "type of the citing opinion: majority, dissent and so on"),
        Column("met_again", pa.bool_(), "whether a later case has the citing case's party names"),
        *CITED,
        Column("pincite", pa.string(), "the pincite as matched", nullable=True),
        Column("pages", STRINGS, "labels of the pages that it names, ascending; empty if not resolvable"),
        Column("pages_of", pa.string(), "volume and reporter whose pages they are"),
        *PARENTHETICAL,
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
