"""MAUD's questions, their classifier heads, and the authors' best settings.

There are 92 questions.  A question with several possible answers at once has a binary head for each answer,
which makes 144 heads (Section 3).  A label is the place of the answer in the sorted list of the question's
answers; for a binary head it is 1 if the row's answers include the head's answer, else 0
(`src/maud/specs.py` of the released code).

The catalogue is built from the released csv files, whose rows have question, category, deal point type,
answer and label.  The recorded list (resources/facts) is used if the files have only a part of the questions.
"""

import io
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import utf8
from lextables.sources.records import csv_records, whole_number

SPLITS = ("train", "dev", "test")
# The three parts of the data, as named in the release and in Table 2.
DATA_TYPES = {"main": "main", "abridged": "abridged", "rare_answers": "rare"}
OTHER = "<OTHER>"  # the released name of any other answer than the head's
NO_SUBQUESTION = "<NONE>"
_COLUMNS = (
    "spec_id",
    "partial",
    "model_name",
    "lr",
    "update_num",
    "aupr",
)  # of the authors' settings


@dataclass(frozen=True)
class Question:
    """A question with its 1-based number in the catalogue; answers are in the order of labels."""

    number: int
    question: str
    category: str
    text_type: str
    answers: tuple[str, ...]
    multilabel: bool


@dataclass(frozen=True)
class Head:
    """A classifier head: for a question, or for one answer (``subquestion``) of a multilabel question.

    ``head_id`` is the question's number, followed for a binary head by the place of its answer, as in
    ``06-00``.  Ids sort like ``position``, the 0-based place of the head.
    """

    head_id: str
    position: int
    question: Question
    subquestion: str | None

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers in the order of labels."""
        return (
            self.question.answers
            if self.subquestion is None
            else (OTHER, self.subquestion)
        )


@dataclass(frozen=True)
class Catalogue:
    """All questions and heads, in the order of the released categories."""

    questions: tuple[Question, ...]
    heads: tuple[Head, ...]
    _by_wording: dict[tuple[str, str], Head] = field(repr=False, compare=False)
    _questions: dict[str, Question] = field(repr=False, compare=False)

    @property
    def text_types(self) -> tuple[str, ...]:
        """The deal point types, each once, in the order of their first questions."""
        return tuple(dict.fromkeys(question.text_type for question in self.questions))

    def question(self, wording: str) -> Question | None:
        """The question with this wording (white space is normalized), or None."""
        return self._questions.get(collapse_space(wording))

    def head(self, question: Question, subquestion: str | None) -> Head | None:
        """The head of a question, or of an answer of a multilabel question, or None."""
        return self._by_wording.get(
            (collapse_space(question.question), collapse_space(subquestion or ""))
        )

    def rows(self, author_numbers: Mapping[str, str]) -> list[Row]:
        """The rows of the table ``questions``: a row for each head, with the authors' number."""
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


def read_recorded(content: bytes, where: str, questions: int, heads: int) -> Catalogue:
    """Read the recorded list, which must have as many ``questions`` and ``heads`` as the paper.

    Raises `BadInput` with the question of the first error.
    """
    try:
        groups = yaml.safe_load(content)
        listed = [
            Question(
                0,
                entry["question"],
                group["category"],
                group["text_type"],
                tuple(entry["answers"]),
                entry.get("multilabel", False),
            )
            for group in groups
            for entry in group["questions"]
        ]
    except (
        yaml.YAMLError,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
        RecursionError,
    ) as error:
        raise BadInput(
            f"not a list of questions by deal point type ({error!r})", where=where
        ) from None
    for question in listed:
        if len(question.answers) < 2 or list(question.answers) != sorted(
            set(question.answers)
        ):
            raise BadInput(
                f"the answers of {question.question!r} are not two or more, each once and sorted",
                where=where,
                do="sort them: a label is the place of an answer",
            )
    catalogue = _catalogue(listed)
    if (len(catalogue.questions), len(catalogue.heads)) != (questions, heads):
        raise BadInput(
            f"{len(catalogue.questions)} questions make {len(catalogue.heads)} heads where the paper has"
            f" {questions} and {heads}",
            where=where,
            do="restore the questions that are missing",
        )
    return catalogue


def _catalogue(questions: Iterable[Question]) -> Catalogue:
    """Number the questions in their order; of two with the same wording, the first is used."""
    by_wording: dict[str, Question] = {}
    for question in questions:
        by_wording.setdefault(collapse_space(question.question), question)
    numbered = [
        replace(question, number=number)
        for number, question in enumerate(by_wording.values(), 1)
    ]
    answered = [
        (question, subquestion)
        for question in numbered
        for subquestion in (question.answers if question.multilabel else (None,))
    ]
    heads = tuple(
        Head(_head_id(question, subquestion), position, question, subquestion)
        for position, (question, subquestion) in enumerate(answered)
    )
    by_head = {
        (
            collapse_space(head.question.question),
            collapse_space(head.subquestion or ""),
        ): head
        for head in heads
    }
    return Catalogue(
        tuple(numbered), heads, by_head, dict(zip(by_wording, numbered, strict=True))
    )


class _QuestionRows:
    """Counts of the cells of a question's rows.  The most common value is used, so errors are outvoted."""

    def __init__(self) -> None:
        self.cells: dict[str, Counter[str]] = defaultdict(Counter)
        self.labels: dict[int, Counter[str]] = defaultdict(Counter)
        self.numbers: set[str] = set()

    def add(self, record: Mapping[str, str]) -> None:
        for column in ("question", "category", "text_type", "subquestion"):
            self.cells[column][record[column]] += 1
        self.numbers.add(author_number(record["id"]).partition(".")[0])
        label = whole_number(record["label"])
        if label is not None:
            self.labels[label][record["answer"]] += 1

    def most_common(self, column: str) -> str:
        return self.cells[column].most_common(1)[0][0]

    def question(self, recorded: Question | None) -> Question | None:
        """The question; None if its rows do not have all answers and these are not recorded."""
        multilabel = self.most_common("subquestion") != NO_SUBQUESTION
        if multilabel:
            lists = [sorted(self.cells["subquestion"].keys() - {NO_SUBQUESTION})]
        else:
            seen = {
                label: answers.most_common(1)[0][0]
                for label, answers in self.labels.items()
            }
            # An answer may have no row: the release removes abridged texts that are in the main data.
            filled = dict(enumerate(recorded.answers)) | seen if recorded else seen
            lists = [
                [labels[label] for label in sorted(labels)]
                for labels in (filled, seen)
                if sorted(labels) == list(range(len(labels)))
            ]
        distinct = (
            listed
            for listed in lists
            if len(set(map(collapse_space, listed))) == len(listed) > 1
        )
        answers = next(distinct, None)
        if answers is None:
            return None
        cells = (
            self.most_common(column) for column in ("question", "category", "text_type")
        )
        return Question(0, *cells, tuple(answers), multilabel)


def released_catalogue(
    records: Iterable[Mapping[str, str]], recorded: Catalogue
) -> tuple[Catalogue, dict[str, int]]:
    """Return the catalogue of a release's rows, and counts of questions and answers from the record only.

    If the rows have as many questions and heads as recorded, the catalogue is theirs, whatever the wording.
    The record adds answers without a row, and the order of questions; the order of questions with another
    wording is that of the rows' ``id`` within the recorded categories.  Otherwise, such as for a part of the
    release, the record is the catalogue.
    """
    rows_of: dict[str, _QuestionRows] = defaultdict(_QuestionRows)
    for record in records:
        rows_of[collapse_space(record["question"])].add(record)
    catalogue = _complete_catalogue(rows_of, recorded) or recorded
    notes = Counter(questions_from_the_record=0, answers_from_the_record=0)
    for question in catalogue.questions:
        rows = rows_of.get(collapse_space(question.question))
        notes["questions_from_the_record"] += rows is None
        if rows:
            labels = rows.cells["subquestion"] if question.multilabel else rows.labels
            notes["answers_from_the_record"] += max(
                0, len(question.answers) - len(labels.keys() - {NO_SUBQUESTION})
            )
    return catalogue, dict(notes)


def _complete_catalogue(
    rows_of: Mapping[str, _QuestionRows], recorded: Catalogue
) -> Catalogue | None:
    """Return the catalogue of rows with all questions and heads, else None."""
    recorded_as = {wording: recorded.question(wording) for wording in rows_of}
    questions = {
        wording: rows.question(recorded_as[wording])
        for wording, rows in rows_of.items()
    }
    if None in questions.values():
        return None
    if None in recorded_as.values():
        order = _order_by_number(rows_of, questions, recorded)
    else:
        order = sorted(questions, key=lambda wording: recorded_as[wording].number)
    if order is None:
        return None
    catalogue = _catalogue(questions[wording] for wording in order)
    sizes = [(len(c.questions), len(c.heads)) for c in (catalogue, recorded)]
    return catalogue if sizes[0] == sizes[1] else None


def _order_by_number(
    rows_of: Mapping[str, _QuestionRows],
    questions: Mapping[str, Question],
    recorded: Catalogue,
) -> Sequence[str] | None:
    """Return the wordings sorted by category and authors' number; None if the numbers are not unique."""
    categories = list(
        dict.fromkeys(question.category for question in recorded.questions)
    )
    if not all(question.category in categories for question in questions.values()):
        return None
    numbers = [
        next(iter(rows.numbers)) for rows in rows_of.values() if len(rows.numbers) == 1
    ]
    places = [whole_number(number) for number in numbers]
    if len(set(numbers)) != len(rows_of) or None in places:
        return None
    place = dict(zip(rows_of, places, strict=True))
    return sorted(
        questions,
        key=lambda name: (categories.index(questions[name].category), place[name]),
    )


def _head_id(question: Question, subquestion: str | None) -> str:
    number = f"{question.number:02d}"
    return (
        number
        if subquestion is None
        else f"{number}-{question.answers.index(subquestion):02d}"
    )


@dataclass(frozen=True)
class AuthorSettings:
    """The authors' best settings for each head, their multi-task grid, and their numbers of heads."""

    hyperparameters: list[Row]
    multi_task_grid: list[Row]
    author_numbers: dict[str, str]


def read_author_settings(
    single: Mapping[str, bytes],
    multi: Mapping[str, tuple[bytes, bool]],
    catalogue: Catalogue,
) -> AuthorSettings:
    """Read the released best settings.

    ``single`` maps file names to the tables of single-task settings; ``multi`` maps file names to (notes of
    multi-task settings, whether the abridged data were used too).  Raises `BadInput` with file and row for
    the first error.
    """
    # Numbers are strings, because question 10.1 is not question 10.10.
    records = [
        record
        for name, content in single.items()
        for record in csv_records(io.BytesIO(content), name, _COLUMNS)
    ]
    heads = {
        number: head_id
        for head_id, number in _author_numbers(records, catalogue).items()
    }
    rows: dict[tuple[str, float, str], dict[str, Any]] = {}
    for where, record in records:
        number = author_number(record["spec_id"])
        if number not in heads:
            raise BadInput(
                f"there is no question with the number {number}", where=where
            )
        row = {
            "model": record["model_name"],
            "share": _number(record, "partial", where),
            "head_id": heads[number],
            "learning_rate": _number(record, "lr", where),
            "updates": int(_number(record, "update_num", where)),
            "validation_aupr": _number(record, "aupr", where),
        }
        key = (row["model"], row["share"], row["head_id"])
        if key in rows:
            raise BadInput(
                f"{row['model']} has a second row for question {number}", where=where
            )
        rows[key] = row
    for model, share in sorted({key[:2] for key in rows}):
        absent = [
            number
            for number, head_id in heads.items()
            if (model, share, head_id) not in rows
        ]
        if absent:
            raise BadInput(
                f"{model} on {share:.0%} of the data has no settings for question {absent[0]}",
                where=", ".join(single),
                do="restore its row",
            )
    grid = [
        row
        for name, (content, abridged) in multi.items()
        for row in _grid(content, abridged, name)
    ]
    grid.sort(
        key=lambda row: (
            row["model"],
            row["abridged"],
            row["learning_rate"],
            row["epochs"],
        )
    )
    return AuthorSettings(
        [rows[key] for key in sorted(rows)],
        grid,
        {head_id: number for number, head_id in heads.items()},
    )


def author_number(written: str) -> str:
    """Return the authors' number of a head, ``10.3`` in their result files and ``10-3`` in their code."""
    return written.strip().replace("-", ".")


def _number(record: Mapping[str, str], column: str, where: str) -> float:
    try:
        number = float(record[column])
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(f"the {column} {record[column]!r} is not a number", where=where)
    return number


def _author_numbers(
    records: list[tuple[str, dict[str, str]]], catalogue: Catalogue
) -> dict[str, str]:
    """Return the authors' number of each head.

    Numbers and catalogue have the same order within each category (that of the annotation columns), so they
    are matched by rank.  The numbers of answers of the ten multilabel questions must agree.
    """
    categories: dict[int, str] = {}
    answers: dict[int, set[int]] = {}
    for where, record in records:
        written, _, written_answer = author_number(record["spec_id"]).partition(".")
        base, answer = whole_number(written), whole_number(written_answer)
        if base is None or (written_answer and answer is None):
            raise BadInput(
                f"the spec_id {record['spec_id']!r} is not the number of a question",
                where=where,
            )
        category = record.get("category")
        if category and categories.setdefault(base, category) != category:
            raise BadInput(
                f"question {base} is of a second category, {category}", where=where
            )
        of_base = answers.setdefault(base, set())
        if answer is not None:
            of_base.add(answer)
    numbers: dict[str, str] = {}
    for category in dict.fromkeys(
        question.category for question in catalogue.questions
    ):
        listed = [
            question
            for question in catalogue.questions
            if question.category == category
        ]
        bases = sorted(base for base, of in categories.items() if of == category)
        if len(bases) != len(listed):
            raise BadInput(
                f"the authors' settings have {len(bases)} questions of the category {category}"
                f" where the catalogue has {len(listed)}"
            )
        for question, base in zip(listed, bases, strict=True):
            expected = (
                set(range(len(question.answers))) if question.multilabel else set()
            )
            if answers[base] != expected:
                raise BadInput(
                    f"the authors' settings have {len(answers[base])} binary questions of number {base}"
                    f" where {question.question!r} has {len(expected)}"
                )
            for subquestion in question.answers if question.multilabel else (None,):
                head_id = _head_id(question, subquestion)
                numbers[head_id] = str(base) + (
                    f".{int(head_id[3:])}" if subquestion else ""
                )
    return numbers


def _grid(content: bytes, abridged: bool, name: str) -> Iterator[Row]:
    """Yield the rows of the tables in a note; each follows a heading with the learning rate.

    Columns may have any order, and some lines begin with a row number.
    """
    rate: float | None = None
    columns: list[str] = []
    for number, line in enumerate(
        utf8(content, name, encoding="utf-8").splitlines(), 1
    ):
        where = f"{name}, row {number}"
        if heading := re.match(r"#+\s*(?:lr\s*=\s*)?(\d+e-?\d+)\s*$", line):
            rate, columns = float(heading[1]), []
            continue
        cells = re.sub(r"\[.*?\]", "", line).split()
        if {"epoch_num", "aupr"} <= set(cells):
            columns = cells
        elif cells and columns and not line.startswith("```"):
            if rate is None or len(cells) - len(columns) not in (0, 1):
                raise BadInput(
                    "is no row of a table below a learning rate", where=where
                )
            record = dict(zip(columns, cells[len(cells) - len(columns) :], strict=True))
            yield {
                "model": record["model_name"],
                "abridged": abridged,
                "learning_rate": rate,
                "epochs": int(_number(record, "epoch_num", where)),
                "validation_aupr": _number(record, "aupr", where),
                "chosen": "[BEST]" in line,
            }
