"""LawngNLI, Section 4.1: the examples as input of the classification task.

Each example has a hypothesis and four premises: the short and the long one, each whole
and cut to the five paragraphs that BM25 ranks highest for the hypothesis.  Each text is
stored once; a view selects from them.

There are two heads.  `nli` has the three labels.  `entailment` has two, for models
trained on two-label DocNLI; Entail examples occur twice to balance it (A.2.1).

The last paragraphs of a long premise are repeated before it (A.1.9).  The BM25 filter
does not see the repeated paragraphs, as in the released code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

from lextables.models.okapi import Paragraphs
from lextables.papers.lawngnli.dataset.annotations import pair_name
from lextables.papers.lawngnli.dataset.labels import ENTAIL, LABELS, TRAIN
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification import schema
from lextables.tasks.classification.schema import content_id

PAIRS = Table(
    "examples",
    "The examples, once a head; premises and hypotheses are texts.",
    (
        Column(
            "example_id",
            pa.string(),
            "`<example>[:twin]:<head>`, and a number of two labels",
        ),
        Column(
            "example",
            pa.string(),
            "`<example>[:twin]`, one premise with one hypothesis",
        ),
        Column("split", pa.string(), "train, val or test"),
        Column("head_id", pa.string(), "`nli` of three labels, or `entailment` of two"),
        Column("label", pa.int32(), "place of the right answer among the head's"),
        Column("short", pa.string(), "text: the cited pages without citations"),
        Column(
            "short_bm25",
            pa.string(),
            "text: the paragraphs of `short` nearest to the hypothesis",
        ),
        Column(
            "long",
            pa.string(),
            "text: the opinion without citations, its end once more before it",
        ),
        Column(
            "long_bm25",
            pa.string(),
            "text: the paragraphs of the opinion nearest to the hypothesis",
        ),
        Column("hypothesis", pa.string(), "text: the statement to judge"),
        Column("premise", pa.string(), "the case whose opinion the premise is"),
        Column(
            "reading",
            pa.string(),
            "what resources/readings calls the pair of short premise and hypothesis",
        ),
        Column(
            "analysis",
            pa.bool_(),
            "whether it is of the analysis subset, all that the paper uses",
        ),
        # Groups within the analysis subset: in their texts, "it is" means that it is of
        # this subset.
        Column(
            "negated",
            pa.bool_(),
            "whether it is, and its hypothesis has pivotal negation",
        ),
        Column(
            "above_median",
            pa.bool_(),
            "whether it is, and longer than its training examples' median",
        ),
        Column(
            "difficult",
            pa.bool_(),
            "whether the filters of A.1.6 pass it or what it is the twin of",
        ),
    ),
    key=("example_id",),
    labels=("split", "head_id", "analysis", "negated"),
)
HEADS = schema.HEADS
# In the order of their premises, one of which is in memory at a time.
TEXTS = replace(schema.TEXTS, ordered=False)
TABLES = (PAIRS, HEADS, TEXTS)

NLI = "nli"
ENTAILMENT = "entailment"
ANSWERS = {ENTAILMENT: ("entail", "not entail"), NLI: LABELS}
_COLUMNS = [
    "example_id",
    "is_twin",
    "split",
    "analysis",
    "label",
    "negated",
    "fault",
    "hypothesis",
    "cited_case_id",
    "short_premise",
]


def write_pairs(
    examples: str | Path,
    long_premises: str | Path,
    pairs: str | Path,
    heads: str | Path,
    texts: str | Path,
) -> None:
    """Write the `TABLES` from LawngNLI's examples and their long premises.

    Memory: one long premise, the examples with their short premises, and the ids of all
    texts. Raises `BadInput` for an example without a long premise.
    """
    rows: list[Row] = []

    def each_once() -> Iterator[Row]:
        """Yield the rows of `TEXTS`; their examples are added to ``rows``."""
        text_ids: set[str] = set()
        for row in _in_order_of_premises(examples, long_premises):
            row_texts = _texts_of(row)
            rows.append(_pair_row(row, row_texts))
            for text_id, text in row_texts.values():
                if text_id not in text_ids:
                    text_ids.add(text_id)
                    yield {"text_id": text_id, "text": text}

    dataset.write(TEXTS, each_once(), texts)
    answers = (
        {"head_id": head, "answers": list(labels)}
        for head, labels in sorted(ANSWERS.items())
    )
    dataset.write(HEADS, answers, heads)
    dataset.write(PAIRS, _of_heads(rows), pairs)


def _in_order_of_premises(
    examples: str | Path, long_premises: str | Path
) -> Iterator[Row]:
    """The examples sorted by premise, each with its ``opinion``: the long premise and
    its `Paragraphs`.

    The long premises are in this order too, so that one is in memory at a time.
    """
    rows = dataset.read(examples, _COLUMNS)
    premises = dataset.read(
        long_premises, ["case_id", "text", "tokens", "closing_paragraphs"]
    )
    premise: dict[str, Any] = {"case_id": None}
    for row in sorted(rows, key=itemgetter("cited_case_id", "example_id", "is_twin")):
        case = row["cited_case_id"]
        if premise["case_id"] != case:
            premise = next(
                (opinion for opinion in premises if opinion["case_id"] == case), {}
            )
            if not premise:
                what = f"there is no opinion of case {case}, the premise of the example {row['example_id']}"
                raise BadInput(what, where="long_premises")
            premise["paragraphs"] = Paragraphs(premise["text"])
        yield {**row, "opinion": premise}


def _texts_of(row: Row) -> dict[str, tuple[str, str]]:
    """{column of `PAIRS`: the id of its text, and the text}."""
    opinion = row["opinion"]
    hypothesis = row["hypothesis"]
    short = row["short_premise"]
    closing = opinion["text"].split("\n")[-opinion["closing_paragraphs"] :]
    texts = {
        "hypothesis": hypothesis,
        "short": short,
        "short_bm25": Paragraphs(short).best(hypothesis),
        "long": "\n".join((*closing, opinion["text"])),
        "long_bm25": opinion["paragraphs"].best(hypothesis),
    }
    return {column: (content_id(text), text) for column, text in texts.items()}


def _pair_row(row: Row, texts: dict[str, tuple[str, str]]) -> Row:
    """An example with the ids of its texts, from which `_of_heads` makes the rows of
    `PAIRS`.
    """
    return {
        "example": row["example_id"] + ":twin" * row["is_twin"],
        "answer": row["label"],
        "premise": str(row["cited_case_id"]),
        "reading": pair_name(row["hypothesis"], row["short_premise"]),
        "tokens": row["opinion"]["tokens"],
        "difficult": row["fault"] is None,
        **{column: text_id for column, (text_id, _) in texts.items()},
        "negated": row["analysis"] and row["negated"],
        **{name: row[name] for name in ("split", "analysis")},
    }


def _of_heads(examples: Sequence[Row]) -> list[Row]:
    """The rows of `PAIRS`: the examples of both heads."""
    # The released code has the fixed number 2,339, the median of the training split in
    # Table 2.
    lengths = [
        row["tokens"] for row in examples if row["analysis"] and row["split"] == TRAIN
    ]
    middle = median(lengths or [0])
    rows: list[Row] = []
    for head, answers in ANSWERS.items():
        for row in _of_head(head, examples):
            labelled = {
                **row,
                "head_id": head,
                "label": answers.index(row["answer"]),
                "above_median": row["analysis"] and row["tokens"] > middle,
            }
            rows.append(labelled)
    return sorted(rows, key=itemgetter("example_id"))


def _of_head(head: str, examples: Sequence[Row]) -> Iterator[Row]:
    """The examples of a head; for the two-label head, Entail examples occur twice."""
    for row in examples:
        if head == NLI:
            yield {**row, "example_id": f"{row['example']}:{head}"}
            continue
        answer = ANSWERS[head][1]
        times: tuple[int, ...] = (1,)
        if row["answer"] == ENTAIL:
            answer = ANSWERS[head][0]
            times = (1, 2)
        for time in times:
            yield {
                **row,
                "example_id": f"{row['example']}:{head}:{time}",
                "answer": answer,
            }
