"""MAUD's questions, their classifier heads, and the authors' best settings.

There are 92 questions.  A question with several possible answers at once has a binary
head for each answer, which makes 144 heads (Section 3).  A label is the place of the
answer in the sorted list of the question's answers; for a binary head it is 1 if the
row's answers include the head's answer, else 0 (`src/maud/specs.py` of the released
code).  The list of questions and answers is a recorded fact (resources/facts).
"""

import io
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import yaml

from lextables.pipeline.dataset import Row
from lextables.sources.records import csv_records

SPLITS = ("train", "dev", "test")
# The three parts of the data, as named in the release and in Table 2.
DATA_TYPES = {"main": "main", "abridged": "abridged", "rare_answers": "rare"}
OTHER = "<OTHER>"  # the released name of any other answer than the head's
NO_SUBQUESTION = "<NONE>"


@dataclass(frozen=True)
class Question:
    """A question with its 1-based number in the catalogue; answers are in the order of
    labels.
    """

    number: int
    question: str
    category: str
    text_type: str
    answers: tuple[str, ...]
    multilabel: bool


@dataclass(frozen=True)
class Head:
    """A classifier head: for a question, or for one answer (``subquestion``) of a
    multilabel question.

    ``head_id`` is the question's number, followed for a binary head by the place of its
    answer, as in ``06-00``.  Ids sort like ``position``, the 0-based place of the head.
    """

    head_id: str
    position: int
    question: Question
    subquestion: str | None

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers in the order of labels."""
        if self.subquestion is None:
            return self.question.answers
        return (OTHER, self.subquestion)


@dataclass(frozen=True)
class Catalogue:
    """All questions and heads, in the order of the released categories."""

    questions: tuple[Question, ...]
    heads: tuple[Head, ...]
    _by_wording: Mapping[tuple[str, str], Head] = field(repr=False)

    @property
    def text_types(self) -> tuple[str, ...]:
        """The deal point types, each once, in the order of their first questions."""
        return tuple(dict.fromkeys(question.text_type for question in self.questions))

    def has(self, wording: str) -> bool:
        """Whether there is a question with this wording."""
        plain = collapse_space(wording)
        return any(collapse_space(each.question) == plain for each in self.questions)

    def head(self, wording: str, subquestion: str) -> Head | None:
        """Return the head of a question, or of an answer of a multilabel question, or
        None.

        ``subquestion`` is `NO_SUBQUESTION` for a whole question.  White space is
        normalized.
        """
        key = (collapse_space(wording), collapse_space(subquestion))
        return self._by_wording.get(key)

    def rows(self, author_numbers: Mapping[str, str]) -> list[Row]:
        """Return the rows of the table ``questions``: a row for each head, with the
        authors' number.
        """
        return [
            {
                "head_id": head.head_id,
                "position": head.position,
                "question_number": head.question.number,
                "question": head.question.question,
                "subquestion": head.subquestion,
                "category": head.question.category,
                "text_type": head.question.text_type,
                "answers": list(head.answers),
                "multilabel": head.question.multilabel,
                "author_number": author_numbers[head.head_id],
            }
            for head in self.heads
        ]


def collapse_space(text: str) -> str:
    """Return ``text`` with single spaces; white space in the release is irregular."""
    return " ".join(text.split())


def read_catalogue(content: bytes) -> Catalogue:
    """Return the questions and heads of the recorded list (resources/facts)."""
    questions: list[Question] = []
    heads: list[Head] = []
    for group in yaml.safe_load(content):
        for entry in group["questions"]:
            question = Question(
                number=len(questions) + 1,
                question=entry["question"],
                category=group["category"],
                text_type=group["text_type"],
                answers=tuple(entry["answers"]),
                multilabel=entry.get("multilabel", False),
            )
            questions.append(question)
            for subquestion in _subquestions(question):
                head_id = _head_id(question, subquestion)
                heads.append(Head(head_id, len(heads), question, subquestion))
    by_wording = {}
    for head in heads:
        subquestion = collapse_space(head.subquestion or NO_SUBQUESTION)
        by_wording[collapse_space(head.question.question), subquestion] = head
    return Catalogue(tuple(questions), tuple(heads), by_wording)


def _subquestions(question: Question) -> tuple[str | None, ...]:
    """Return the subquestion of each head of a question; None for its only head."""
    return question.answers if question.multilabel else (None,)


def _head_id(question: Question, subquestion: str | None) -> str:
    """Return the id of a head, such as ``05``, or ``06-00`` of a binary one."""
    if subquestion is None:
        return f"{question.number:02d}"
    return f"{question.number:02d}-{question.answers.index(subquestion):02d}"


@dataclass(frozen=True)
class AuthorSettings:
    """The settings in the authors' result files."""

    hyperparameters: list[Row]
    """The best settings of each model and head: rows of the table `hyperparameters`."""
    multi_task_grid: list[Row]
    """The search over multi-task settings: rows of the table `multi_task_grid`."""
    author_numbers: Mapping[str, str]
    """{head: the number that the authors give it}."""


def read_author_settings(
    single: Mapping[str, bytes],
    multi: Iterable[tuple[bytes, bool]],
    catalogue: Catalogue,
) -> AuthorSettings:
    """Return the released best settings.

    ``single`` maps file names to the tables of single-task settings; ``multi`` are
    (notes of multi-task settings, whether the abridged data were used too).
    """
    records = []
    for name, content in single.items():
        for _, record in csv_records(io.BytesIO(content), name, ("spec_id",)):
            records.append(record)
    numbers = _author_numbers(records, catalogue)
    # Numbers are strings, because question 10.1 is not question 10.10.
    head_of = {number: head_id for head_id, number in numbers.items()}
    rows: list[Row] = []
    for record in records:
        row = {
            "model": record["model_name"],
            "share": float(record["partial"]),
            "head_id": head_of[author_number(record["spec_id"])],
            "learning_rate": float(record["lr"]),
            "updates": int(float(record["update_num"])),
            "validation_aupr": float(record["aupr"]),
        }
        rows.append(row)
    rows.sort(key=lambda row: (row["model"], row["share"], row["head_id"]))
    grid: list[Row] = []
    for content, abridged in multi:
        grid += _grid(content.decode(), abridged)
    order = ("model", "abridged", "learning_rate", "epochs")
    grid.sort(key=lambda row: tuple(row[name] for name in order))
    return AuthorSettings(rows, grid, numbers)


def author_number(written: str) -> str:
    """Return the authors' number of a head, ``10.3`` in their result files and ``10-3``
    in their code.
    """
    return written.strip().replace("-", ".")


def _author_numbers(
    records: Iterable[Mapping[str, str]], catalogue: Catalogue
) -> dict[str, str]:
    """Return {head: the authors' number}.

    The number of a head is the number of its question, followed by the number of its
    answer.  Within each category the authors' numbers and the catalogue have the same
    order, the order of the annotation columns.  So they are matched by rank.
    """
    numbers_by_category: dict[str, set[int]] = defaultdict(set)
    for record in records:
        category = record.get("category")
        if category:
            question_number, _, _ = author_number(record["spec_id"]).partition(".")
            numbers_by_category[category].add(int(question_number))
    number_by_question: dict[Question, int] = {}
    for category, numbers in numbers_by_category.items():
        questions = [each for each in catalogue.questions if each.category == category]
        for question, number in zip(questions, sorted(numbers), strict=True):
            number_by_question[question] = number
    author_numbers = {}
    for head in catalogue.heads:
        head_number = str(number_by_question[head.question])
        _, _, answer = head.head_id.partition("-")
        if answer:
            head_number = f"{head_number}.{int(answer)}"
        author_numbers[head.head_id] = head_number
    return author_numbers


def _grid(text: str, abridged: bool) -> Iterator[Row]:
    """Yield the rows of `multi_task_grid` from the tables in a released note.

    The heading above a table has its learning rate.  Columns may have any order, and
    some lines begin with a row number.
    """
    rate = 0.0
    columns: list[str] = []
    for line in text.splitlines():
        heading = re.match(r"#+\s*(?:lr\s*=\s*)?(\d+e-?\d+)\s*$", line)
        if heading:
            rate = float(heading[1])
            columns = []
            continue
        cells = re.sub(r"\[.*?\]", "", line).split()
        if {"epoch_num", "aupr"} <= set(cells):
            columns = cells
        elif cells and columns and not line.startswith("```"):
            record = dict(zip(columns, cells[-len(columns) :], strict=True))
            yield {
                "model": record["model_name"],
                "abridged": abridged,
                "learning_rate": rate,
                "epochs": int(float(record["epoch_num"])),
                "validation_aupr": float(record["aupr"]),
                "chosen": "[BEST]" in line,
            }
