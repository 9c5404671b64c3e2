"""Types and columns that the schemas of several rules share."""

import pyarrow as pa

from lextables.pipeline.dataset import Column

STRINGS = pa.list_(pa.field("item", pa.string(), False))
SPANS = pa.list_(
    pa.field(
        "item", pa.struct([pa.field("start", pa.int32(), False), pa.field("end", pa.int32(), False)]), False
    )
)

CITING = (
    Column("example_id", pa.string(), "`<citing opinion_id>:<offset of the opening parenthesis>`"),
    Column("citing_case_id", pa.int64(), "the case whose opinion has the parenthetical"),
    Column("citing_jurisdiction", pa.string(), "its state, or `United States`"),
)
EXAMPLE_ID = CITING[0]
