"""The written schema of `opinions.parquet`."""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table

PAGE = pa.struct([pa.field("label", pa.string(), False), pa.field("offset", pa.int32(), False)])

# Small row groups: a premise is one opinion of some other volume, read without decoding that volume.
OPINIONS = Table(
    name="opinions",
    description="One row an opinion, in the order of its volume.",
    columns=(
        Column("opinion_id", pa.string(), "`<case_id>-<position>`"),
        Column("case_id", pa.int64(), "the Caselaw Access Project's number of the case"),
        Column("position", pa.int16(), "place of the opinion in its case, from 0"),
        Column(
            "citations",
            pa.list_(pa.field("item", pa.string(), False)),
            "citations of the case; the first is the one whose pages `pages` labels",
        ),
        Column("name", pa.string(), "full name of the case"),
        Column("name_abbreviation", pa.string(), "short name of the case"),
        Column("court", pa.string(), "name of the court"),
        Column("jurisdiction", pa.string(), "state, or `United States` for federal courts"),
        Column("date", pa.string(), "date of decision as published: YYYY, YYYY-MM or YYYY-MM-DD"),
        Column("reporter", pa.string(), "reporter of the first citation, as in `U.S.`"),
        Column("volume", pa.string(), "volume of the first citation"),
        Column("first_page", pa.string(), "first page of the case"),
        Column("last_page", pa.string(), "last page of the case"),
        Column("opinion_type", pa.string(), "as published: majority, dissent, concurrence and so on"),
        Column("author", pa.string(), "author line, empty where there is none"),
        Column("majorities", pa.int16(), "how many majority opinions the case has"),
        Column("text", pa.string(), "paragraphs joined by a line feed, footnotes last"),
        Column(
            "pages",
            pa.list_(pa.field("item", PAGE, False)),
            "where each page starts in `text`, in code points, ascending; empty if that is not known",
        ),
        Column("body_end", pa.int32(), "offset in `text` at which the footnotes begin, or its length"),
    ),
    key=("opinion_id",),
    labels=("opinion_type", "jurisdiction"),
    ordered=False,
    row_group=32,
)
