"""The tables of the task, and documents and questions in a vector space.

A person or a model answers each question about a document with a distribution over the
question's options, and can mark the paragraphs that support the answer.  The names of a
data set's tables, and of the column with the document ids, are the task's ``names``.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lextables.pipeline.dataset import Column, Row, Table, read
from lextables.pipeline.errors import BadInput

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

DOCUMENTS = Table(
    "documents",
    "The documents that are asked about.",
    (
        Column("document_id", pa.string(), "the document"),
        Column(
            "paragraphs",
            pa.int32(),
            "how many paragraphs it has; 0 where its text is not here",
        ),
    ),
    key=("document_id",),
)
PARAGRAPHS = Table(
    "paragraphs",
    "The paragraphs of the documents, in reading order; with blank lines between them they are the text.",
    (
        Column("document_id", pa.string(), "the document"),
        Column(
            "paragraph_id", pa.string(), "the paragraph, unlike any of another document"
        ),
        Column("place", pa.int32(), "its place in the document, from 0"),
        Column("text", pa.string(), "the paragraph as published"),
    ),
    key=("document_id", "place"),
)
QUESTIONS = Table(
    "questions",
    "What is asked of every document, and the options that there are.",
    (
        Column("question_id", pa.string(), "the question"),
        Column("category", pa.string(), "what it is about"),
        Column("question", pa.string(), "its wording"),
        Column(
            "options", pa.list_(pa.string()), "the answers that may be given, in order"
        ),
        Column("several", pa.bool_(), "whether more than one option may be chosen"),
    ),
    key=("question_id",),
    labels=("category",),
)
RESPONSES = Table(
    "responses",
    "What each reader answered.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column(
            "response",
            pa.int32(),
            "the place of the response among those to the question, from 0",
        ),
        Column("reader_id", pa.string(), "who answered, as published"),
        Column(
            "options",
            pa.list_(pa.int32()),
            "places of the chosen options, ascending; may be empty",
        ),
        Column("confidence", pa.float64(), "the reader's own, 0 to 1", nullable=True),
    ),
    key=("document_id", "question_id", "response"),
)
HIGHLIGHTS = Table(
    "highlights",
    "The sentences that a reader marked for an answer, by their paragraphs.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("response", pa.int32(), "the response that they were marked for"),
        Column("paragraph_id", pa.string(), "the paragraph"),
        Column("sentence", pa.int32(), "place of the sentence in it, from 0"),
    ),
    key=("document_id", "question_id", "response", "paragraph_id", "sentence"),
)
PREDICTIONS = Table(
    "predictions",
    "The distribution that a model gives over the options of a question about a document.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column(
            "probabilities",
            pa.list_(pa.float64()),
            "one an option, in their order; they add up to one",
        ),
    ),
    key=("document_id", "question_id"),
)
MARKED = Table(
    "marked",
    "How relevant a model finds the paragraphs of a document to a question.",
    (
        Column("document_id", pa.string(), "the document"),
        Column("question_id", pa.string(), "the question"),
        Column("paragraph_id", pa.string(), "the paragraph"),
        Column("probability", pa.float64(), "that a reader would mark something in it"),
    ),
    key=("document_id", "question_id", "paragraph_id"),
)

# {question: {document: share of each option, float64 (options,)}}
Shares = Mapping[str, Mapping[str, np.ndarray]]
# A function from texts to their vectors of length one, (texts, dimensions).
Encode = Callable[[Sequence[str]], np.ndarray]
# The tables needed for answers.
WITHOUT_TEXT = ("questions", "responses")
ANSWERED_FROM = (*WITHOUT_TEXT, "paragraphs")
BETWEEN_PARAGRAPHS = "\n\n"  # in the text of a document
DIGITS = 6  # decimals of the stored probabilities of marks
MIN_PARAGRAPHS = 2  # a word of the TF-IDF space occurs in at least so many


@dataclass(frozen=True)
class DocumentQuestion:
    """A question with its options and its category."""

    question_id: str
    category: str
    question: str
    options: tuple[str, ...]

    @property
    def text(self) -> str:
        """The question and its options, one per line."""
        return "\n".join((self.question, *self.options))


class Paragraph(NamedTuple):
    """A paragraph of a document."""

    paragraph_id: str
    text: str


@dataclass(frozen=True)
class Collection:
    """Questions, people's answers, and {document: its paragraphs}.

    Only documents with a text have paragraphs.
    """

    questions: Mapping[str, DocumentQuestion]
    shares: Shares
    paragraphs: Mapping[str, Sequence[Paragraph]]

    def all_paragraphs(self) -> Iterator[Paragraph]:
        """Yield all paragraphs, by document."""
        return chain.from_iterable(self.paragraphs.values())

    def texts(self) -> list[str]:
        """Return the texts of all paragraphs, by document."""
        return [paragraph.text for paragraph in self.all_paragraphs()]


def load(data: Sequence[str | Path], names: Mapping[str, str]) -> Collection:
    """Read the tables `ANSWERED_FROM`; without the third there are no texts."""
    questions = questions_of(data[0])
    shares = shares_of(data[1], questions, names["document"])
    paragraphs = {}
    if len(data) > len(WITHOUT_TEXT):
        paragraphs = paragraphs_of(data[2], names["document"])
    return Collection(questions, shares, paragraphs)


def questions_of(path: str | Path) -> dict[str, DocumentQuestion]:
    """Return {question id: question}, sorted."""
    questions = {}
    for row in read(path, ["question_id", "category", "question", "options"]):
        row["options"] = tuple(row["options"])
        questions[row["question_id"]] = DocumentQuestion(**row)
    return dict(sorted(questions.items()))


def shares_of(
    path: str | Path, questions: Mapping[str, DocumentQuestion], document: str
) -> dict[str, dict[str, np.ndarray]]:
    """Return the share of each option in the responses to each question and document.

    They are `Shares`, sorted.  Every chosen option counts once, however many others the
    same reader chose.  Pairs for which nobody chose an option are left out.
    ``document`` is the column of document ids.  Raises `BadInput` for a response to an
    unknown question, or with an option that the question does not have.
    """
    counts: dict[str, dict[str, np.ndarray]] = {name: {} for name in questions}
    for row in read(path, [document, "question_id", "options"]):
        name = row["question_id"]
        where = f"responses, document {row[document]}"
        if name not in questions:
            raise BadInput(
                f"there is no question {name!r}", where=where, do="correct the data set"
            )
        size = len(questions[name].options)
        if not all(0 <= option < size for option in row["options"]):
            options = row["options"]
            what = f"options {options} where the question {name!r} has {size} options"
            raise BadInput(what, where=where, do="correct the data set")
        if row["options"]:
            option_counts = counts[name].setdefault(row[document], np.zeros(size))
            np.add.at(option_counts, row["options"], 1)
    shares: dict[str, dict[str, np.ndarray]] = {}
    for name, document_counts in counts.items():
        shares[name] = {}
        for document_id in sorted(document_counts):
            chosen = document_counts[document_id]
            shares[name][document_id] = chosen / chosen.sum()
    return shares


def paragraphs_of(path: str | Path, document: str) -> dict[str, list[Paragraph]]:
    """Return {document: its paragraphs in reading order}, sorted.

    Documents without a text are left out.
    """
    rows = read(path, [document, "paragraph_id", "place", "text"])
    paragraphs: dict[str, list[Paragraph]] = defaultdict(list)
    for row in sorted(rows, key=itemgetter(document, "place")):
        paragraph = Paragraph(row["paragraph_id"], row["text"])
        paragraphs[row[document]].append(paragraph)
    return dict(paragraphs)


def marked_of(paths: Sequence[str | Path]) -> dict[str, set[str]]:
    """Return {question: ids of the paragraphs with a sentence marked for it}.

    ``paths`` are the file of the highlights, or empty.
    """
    marked: dict[str, set[str]] = defaultdict(set)
    for path in paths:
        for row in read(path, ["question_id", "paragraph_id"]):
            marked[row["question_id"]].add(row["paragraph_id"])
    return marked


def pairs(
    shares: Shares, documents: Iterable[str] | None = None
) -> list[tuple[str, str]]:
    """Return the answered (document, question) pairs, sorted.

    Only pairs of ``documents`` are returned, or all if it is None.
    """
    selected = None if documents is None else set(documents)
    answered_pairs = []
    for question, document_shares in shares.items():
        for document in document_shares:
            if selected is None or document in selected:
                answered_pairs.append((document, question))
    return sorted(answered_pairs)


def files(names: Mapping[str, str], *tables: str) -> list[str]:
    """Return the data set's names for these ``tables`` of the task."""
    return [names[table] for table in tables]


def fold(document_id: str, folds: int) -> int:
    """Return the fold of a document, from 0 to ``folds`` - 1.

    It depends on the id only, so that an additional document changes no other fold.
    """
    return int.from_bytes(hashlib.sha256(document_id.encode()).digest()[:8]) % folds


def prediction_rows(answers: Mapping[tuple[str, str], Sequence[float]]) -> list[Row]:
    """Return sorted rows of `PREDICTIONS`.

    ``answers`` are {(document, question): probabilities}.
    """
    rows: list[Row] = []
    for (document, question), probabilities in sorted(answers.items()):
        key = {"document_id": document, "question_id": question}
        rows.append({**key, "probabilities": list(map(float, probabilities))})
    return rows


def marked_rows(data: Collection, probabilities: np.ndarray) -> Iterator[Row]:
    """Yield sorted rows of `MARKED` for the answered pairs.

    ``probabilities`` are float64 (paragraphs, questions).
    """
    column = {question: at for at, question in enumerate(data.questions)}
    rows_of = {}
    end = 0
    for document, paragraphs in data.paragraphs.items():
        rows_of[document] = slice(end, end + len(paragraphs))
        end += len(paragraphs)
    for document, question in pairs(data.shares, data.paragraphs):
        values = np.round(probabilities[rows_of[document], column[question]], DIGITS)
        ids = [paragraph.paragraph_id for paragraph in data.paragraphs[document]]
        key = {"document_id": document, "question_id": question}
        for name, value in sorted(zip(ids, values.tolist(), strict=True)):
            yield {**key, "paragraph_id": name, "probability": value}


@dataclass(frozen=True)
class Space:
    """Vectors of length one of documents' paragraphs and of questions.

    ``paragraphs`` are (n, dimensions), ``questions`` (questions, dimensions).  The
    paragraphs of a document are adjacent; ``bounds`` (documents + 1,) are the index of
    each document's first paragraph, then n.  ``names`` are the question ids.
    """

    documents: tuple[str, ...]
    bounds: np.ndarray
    names: tuple[str, ...]
    paragraphs: "csr_matrix | np.ndarray"
    questions: "csr_matrix | np.ndarray"

    @cached_property
    def similarity(self) -> np.ndarray:
        """Cosine of each paragraph and question, float32 (n, questions)."""
        from scipy.sparse import issparse  # slow to import, and a plan needs none

        cosines = self.paragraphs @ self.questions.T
        if issparse(cosines):
            cosines = cosines.todense()
        return np.asarray(cosines, dtype=np.float32)

    @cached_property
    def place(self) -> dict[str, int]:
        """{document: index}."""
        return {document: at for at, document in enumerate(self.documents)}

    @cached_property
    def column(self) -> dict[str, int]:
        """{question: index}."""
        return {question: at for at, question in enumerate(self.names)}

    def of(self, document: int) -> slice:
        """The rows of a document's paragraphs."""
        return slice(int(self.bounds[document]), int(self.bounds[document + 1]))

    def best(self, document: int, question: int, count: int) -> np.ndarray:
        """Return the rows of the paragraphs of a document most similar to a question.

        At most ``count`` are returned, in reading order; of equally similar paragraphs
        the first are taken.
        """
        rows = self.of(document)
        order = np.argsort(-self.similarity[rows, question], kind="stable")
        best = np.sort(order[:count])
        return rows.start + best

    def described(self, question: int, counts: Sequence[int]) -> np.ndarray:
        """Return the features of each document for a question, float64 (documents,
        columns).

        They are the mean vectors of its ``count`` `best` paragraphs, scaled to length
        one, for each of ``counts``.
        """
        return np.hstack([self._means(question, count) for count in counts])

    def _means(self, question: int, count: int) -> np.ndarray:
        """Return the mean vector of the ``count`` `best` paragraphs of each document,
        scaled to length one, float64 (documents, dimensions).
        """
        means = []
        for at in range(len(self.documents)):
            best = self.best(at, question, count)
            mean = self.paragraphs[best].mean(axis=0)
            means.append(np.asarray(mean, dtype=np.float64).ravel())
        stacked = np.stack(means)
        lengths = np.linalg.norm(stacked, axis=1, keepdims=True)
        return stacked / np.maximum(lengths, 1e-12)


def of_words(data: Collection) -> Space:
    """Return the TF-IDF space of the paragraphs' words.

    Raises `BadInput` if there are no words.  Questions are represented by their text
    and options (Marotta-Wurgler and Stein, Section 5).
    """
    # Loads scikit-learn, which scoring does not need.
    from lextables.models.linear import vocabulary

    words = vocabulary(data.texts(), longest=1, least=MIN_PARAGRAPHS)
    return of_vectors(data, words.weigh, words.weigh)


def of_vectors(
    data: Collection, encode_paragraphs: Encode, encode_questions: Encode
) -> Space:
    """Return the space of an encoder with unit vectors.

    See `of_words` for the questions' texts.
    """
    counts = [len(paragraphs) for paragraphs in data.paragraphs.values()]
    return Space(
        tuple(data.paragraphs),
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
        tuple(data.questions),
        encode_paragraphs(data.texts()),
        encode_questions([question.text for question in data.questions.values()]),
    )
