"""The tables: CUAD's contracts, questions and answers."""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table
from lextables.tasks.spans.squad import ANSWERS, EXAMPLES, QUESTIONS

CONTRACTS = Table(
    "contracts",
    "The contracts, in order of their titles.",
    (
        Column("contract_id", pa.string(), "title in CUAD"),
        Column("split", pa.string(), "train or test, as in CUAD"),
        Column("text", pa.string(), "the whole contract"),
    ),
    key=("contract_id",),
    labels=("split",),
    row_group=64,
)
TABLES = {"contracteval": (CONTRACTS, QUESTIONS, ANSWERS, EXAMPLES)}
