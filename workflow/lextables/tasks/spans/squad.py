"""Contracts and questions: SQuAD 2.0 JSON, its tables, and subsets of contracts.

A file holds ``{"version", "data": [{"title", "paragraphs": [{"context", "qas": [{"id",
"question", "is_impossible", "answers": [{"text", "answer_start"}]}]}]}]}``.  Here a
document is one whole contract in one paragraph.  Positions are characters (code points)
of the contract's text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject, json_value

QUESTIONS = Table(
    "questions",
    "One question for each contract and category.",
    (
        Column("question_id", pa.string(), "identifier in the release"),
        Column("contract_id", pa.string(), "the contract that is asked about"),
        Column(
            "category",
            pa.string(),
            "label category, as the release's question ids write it",
        ),
        Column("question", pa.string(), "the full wording"),
        Column(
            "split",
            pa.string(),
            "train, dev or test; contracts are split, not questions",
        ),
        Column(
            "answers",
            pa.int32(),
            "how many spans answer it; 0 where the contract has none",
        ),
    ),
    key=("question_id",),
    labels=("split",),
)
ANSWERS = Table(
    "answers",
    "The annotated spans, checked against the contracts' texts.",
    (
        Column("question_id", pa.string(), "the question"),
        Column(
            "index",
            pa.int32(),
            "0-based index among the question's answers, in the release's order",
        ),
        Column(
            "text",
            pa.string(),
            "the span, equal to the contract's text from start to end",
        ),
        Column(
            "start", pa.int32(), "first character of the span in the contract's text"
        ),
        Column("end", pa.int32(), "character after the last"),
    ),
    key=("question_id", "index"),
)
EXAMPLES = Table(
    "training_examples",
    "Training examples: one row for each answer, and one for each question without an answer.",
    (
        Column(
            "example_id",
            pa.string(),
            "identifier in the release: the question's and a number",
        ),
        Column("question_id", pa.string(), "the question"),
        Column("contract_id", pa.string(), "the contract that is asked about"),
        Column("category", pa.string(), "label category"),
        Column(
            "start",
            pa.int32(),
            "first character of the span in the contract's text; -1 for no answer",
        ),
        Column("end", pa.int32(), "character after the last; -1 for no answer"),
    ),
    key=("example_id",),
)


@dataclass(frozen=True, order=True)
class Answer:
    """A span of a contract: its text, and the character that it starts at."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The character after the span's last."""
        return self.start + len(self.text)


@dataclass(frozen=True)
class AnnotatedQuestion:
    """A question and its answers; none if the contract does not answer it."""

    question_id: str
    category: str
    question: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True)
class Document:
    """A contract and the questions asked about it, in the file's order."""

    contract_id: str
    text: str
    questions: tuple[AnnotatedQuestion, ...]


def read_squad(
    source: bytes | BinaryIO, where: str, category: Callable[[str, str], str]
) -> Iterator[Document]:
    """Yield the contracts of a SQuAD 2.0 file, in the file's order.

    ``where`` is the file's name for errors.  ``category`` maps (question id, contract
    id) to the label category.  Raises `BadInput` for a file that is no JSON, and for an
    answer that is not the text at its position.
    """
    content = source if isinstance(source, bytes) else source.read()
    entries = json_value(content, where, "download the file again")["data"]
    entries.reverse()
    del content, source
    # Entries are removed from the end, so that processed contracts can be freed.
    while entries:
        yield _document(entries.pop(), where, category)


def _document(
    entry: JsonObject, where: str, category: Callable[[str, str], str]
) -> Document:
    """Return the contract and the questions of an entry of ``data``."""
    contract_id = entry["title"]
    (paragraph,) = entry["paragraphs"]
    text = paragraph["context"]
    questions = []
    for asked in paragraph["qas"]:
        answers = []
        for each in asked["answers"]:
            answer = Answer(each["answer_start"], each["text"])
            # Some tools count bytes.
            if answer.start < 0 or not text.startswith(answer.text, answer.start):
                what = f"the answer {answer.text!r:.60} is not at {answer.start}"
                place = f"{where}, question {asked['id']!r}"
                do = "count answer_start in characters of the context"
                raise BadInput(what, where=place, do=do)
            answers.append(answer)
        questions.append(
            AnnotatedQuestion(
                asked["id"],
                category(asked["id"], contract_id),
                asked["question"],
                tuple(answers),
            )
        )
    return Document(contract_id, text, tuple(questions))


def question_rows(document: Document, split: str) -> Iterator[Row]:
    """Yield the document's rows of `QUESTIONS`, in the document's order."""
    for question in document.questions:
        yield {
            "question_id": question.question_id,
            "contract_id": document.contract_id,
            "category": question.category,
            "question": question.question,
            "split": split,
            "answers": len(question.answers),
        }


def answer_rows(document: Document) -> Iterator[Row]:
    """Yield the document's rows of `ANSWERS`, in the document's order."""
    for question in document.questions:
        for index, answer in enumerate(question.answers):
            yield {
                "question_id": question.question_id,
                "index": index,
                "text": answer.text,
                "start": answer.start,
                "end": answer.end,
            }


def example_row(
    document: Document, example: AnnotatedQuestion, question_id: str
) -> Row:
    """Return the row of `EXAMPLES` for a training example of the question.

    The example has at most one answer; without one, both positions are -1.
    """
    start = -1
    end = -1
    for answer in example.answers:
        start = answer.start
        end = answer.end
    return {
        "example_id": example.question_id,
        "question_id": question_id,
        "contract_id": document.contract_id,
        "category": example.category,
        "start": start,
        "end": end,
    }


# Word separators of the released code.  Other white space, such as vertical tabs, does
# not separate words.
PARTING = " \t\r\n\u202f"
_PARTING = re.compile(f"[{PARTING}]+")


def collapsed(text: str) -> str:
    """Return ``text`` with single blanks for separators, as the release joins words."""
    return _PARTING.sub(" ", text)


def stripped(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the position of text[start:end] without white space around it.

    If there is nothing but white space, the position is (``end``, ``start``).
    """
    part = text[start:end]
    return end - len(part.lstrip()), start + len(part.rstrip())


def contract_splits(contracts: str | Path) -> dict[str, str]:
    """Return {contract: split} of the table ``contracts``."""
    rows = read(contracts, ["contract_id", "split"])
    return {row["contract_id"]: row["split"] for row in rows}


def contract_texts(contracts: str | Path, split: str | None = None) -> dict[str, str]:
    """Return {contract: text} of the table ``contracts``, or of one split of it."""
    texts = {}
    for row in read(contracts, ["contract_id", "split", "text"]):
        if split is None or row["split"] == split:
            texts[row["contract_id"]] = row["text"]
    return texts


def training_texts(contracts: str | Path, percent: int) -> dict[str, str]:
    """Return {contract: text} of ``percent`` per cent of the contracts that are not in
    the test split.
    """
    splits = contract_splits(contracts)
    texts = contract_texts(contracts)
    names: Set[str] = {name for name, split in splits.items() if split != "test"}
    if percent < 100:
        names = part(names, percent, seed=0)
    return {name: texts[name] for name in sorted(names)}


def read_questions(questions: str | Path, split: str = "test") -> list[Row]:
    """Return the rows of a split of the table ``questions`` (`QUESTIONS`)."""
    return [row for row in read(questions) if row["split"] == split]


def held_out(contract_ids: Iterable[str], share: float) -> frozenset[str]:
    """Return a random ``share`` of the contracts, at least one.

    CUAD's Section 4.1 mentions only "a small validation set", so the draw is our own.
    """
    return _drawn(contract_ids, share, seed=0)


def held_out_contracts(splits: Mapping[str, str], share: float | str) -> frozenset[str]:
    """Return the held-out contracts.

    They are those of the split ``share``, or that share of the training contracts.
    ``splits`` maps contracts to splits; all splits but `test` are for training.
    """
    if isinstance(share, str):
        return frozenset(name for name, split in splits.items() if split == share)
    training = [name for name, split in splits.items() if split != "test"]
    return held_out(training, share)


def part(contract_ids: Iterable[str], percent: int, seed: int) -> frozenset[str]:
    """Return ``percent`` per cent of the contracts, at least one (CUAD, Figure 6)."""
    return _drawn(contract_ids, percent / 100, seed)


def _drawn(contract_ids: Iterable[str], share: float, seed: int) -> frozenset[str]:
    """Return a random ``share`` of the contracts, at least one."""
    names = sorted(contract_ids)
    count = max(1, round(len(names) * share))
    shuffled = np.random.default_rng(seed).permutation(names)
    return frozenset(shuffled[:count].tolist())
