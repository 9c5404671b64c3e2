"""CUAD's data sets: contracts, categories, questions and answers, training examples,
the clause table.
"""

import pyarrow as pa

from lextables.pipeline.dataset import Column, Table
from lextables.tasks.spans.squad import ANSWERS, EXAMPLES, QUESTIONS

CONTRACTS = Table(
    "contracts",
    "The contracts, in order of their titles.",
    (
        Column("contract_id", pa.string(), "title in the release"),
        Column("split", pa.string(), "train or test, as released"),
        Column("text", pa.string(), "the whole contract as released"),
        Column("characters", pa.int32(), "length of the text in characters"),
        Column(
            "contract_type",
            pa.string(),
            "contract type, as the paper's Table 3 prints it",
        ),
        Column("pages", pa.int32(), "pages of the released PDF"),
    ),
    key=("contract_id",),
    labels=("split", "contract_type"),
    row_group=64,
)
CATEGORIES = Table(
    "categories",
    "The 41 label categories, in the order of the questions.",
    (
        Column("category", pa.string(), "name in the release's question ids"),
        Column("title", pa.string(), "name in category_descriptions.csv"),
        Column("position", pa.int32(), "0-based place among a contract's questions"),
        Column(
            "description", pa.string(), "the description that the question ends with"
        ),
        Column(
            "answer_format",
            pa.string(),
            "what the clause table's answer looks like; empty where not said",
        ),
        Column(
            "group",
            pa.string(),
            "categories of one number may share clauses; empty for a category alone",
        ),
    ),
    key=("position",),
)
CLAUSES = Table(
    "clauses",
    "The labelled clauses of master_clauses.csv; a clause may skip text, which <omitted> marks.",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("category", pa.string(), "label category"),
        Column(
            "index",
            pa.int32(),
            "0-based place among the contract's clauses of this category",
        ),
        Column("text", pa.string(), "the clause as released"),
    ),
    key=("contract_id", "category", "index"),
    labels=("category",),
)
SUPPLEMENTARY = Table(
    "supplementary",
    "The answers of master_clauses.csv: one for each contract and category (Section 3).",
    (
        Column("contract_id", pa.string(), "the contract"),
        Column("category", pa.string(), "label category"),
        Column(
            "answer",
            pa.string(),
            "Yes or No, or a name, date, term or place; empty where none is given",
        ),
    ),
    key=("contract_id", "category"),
)
TABLES = {
    "cuad": (
        CONTRACTS,
        CATEGORIES,
        QUESTIONS,
        ANSWERS,
        EXAMPLES,
        CLAUSES,
        SUPPLEMENTARY,
    )
}
