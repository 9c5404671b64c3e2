"""Paragraphs and questions in one space, where a question finds the paragraphs that are most like it.

A question is sought with its wording and its options (Marotta-Wurgler and Stein, Section 5: a paragraph is
asked about with the question's text and the options' descriptions).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_matrix

from lextables.models.linear import vocabulary
from lextables.tasks.answers.collection import Paragraph, Question

LEAST = 2  # paragraphs that a word stands in
Encode = Callable[[Sequence[str]], np.ndarray]


@dataclass(frozen=True)
class Space:
    """``paragraphs`` (n, dimensions) and ``questions`` (questions, dimensions), rows of length one.

    The paragraphs of each of ``documents`` follow one another: ``bounds`` (documents + 1,) are where they
    begin.  ``names`` are the questions', in their order.
    """

    documents: tuple[str, ...]
    bounds: np.ndarray
    names: tuple[str, ...]
    paragraphs: csr_matrix | np.ndarray
    questions: csr_matrix | np.ndarray

    @cached_property
    def likeness(self) -> np.ndarray:
        """How like each paragraph is to each question, their cosine, float32 (n, questions)."""
        found = self.paragraphs @ self.questions.T
        return np.asarray(found.todense() if hasattr(found, "todense") else found, dtype=np.float32)

    @cached_property
    def place(self) -> dict[str, int]:
        """The place of each document."""
        return {document: at for at, document in enumerate(self.documents)}

    @cached_property
    def column(self) -> dict[str, int]:
        """The place of each question."""
        return {question: at for at, question in enumerate(self.names)}

    def of(self, document: int) -> slice:
        """The rows of a document's paragraphs."""
        return slice(int(self.bounds[document]), int(self.bounds[document + 1]))

    def best(self, document: int, question: int, count: int) -> np.ndarray:
        """Return the rows of a document's ``count`` paragraphs most like a question, in reading order.

        Of equals the first.
        """
        here = self.of(document)
        order = np.argsort(-self.likeness[here, question], kind="stable")[:count]
        return here.start + np.sort(order)

    def described(self, question: int, counts: Sequence[int]) -> np.ndarray:
        """Return of each document the means of its `best` paragraphs, by each of ``counts`` side by side.

        Each is brought to length one, float64 (documents, dimensions of all).
        """
        return np.hstack([self._means(question, count) for count in counts])

    def _means(self, question: int, count: int) -> np.ndarray:
        rows = [self.paragraphs[self.best(at, question, count)] for at in range(len(self.documents))]
        means = np.stack([np.asarray(each.mean(axis=0), dtype=np.float64).ravel() for each in rows])
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)


def of_words(paragraphs: Mapping[str, Sequence[Paragraph]], questions: Mapping[str, Question]) -> Space:
    """Return the space of words, by their TF-IDF among the paragraphs.  `BadInput` for no words at all."""
    texts = [paragraph.text for those in paragraphs.values() for paragraph in those]
    words = vocabulary(texts, longest=1, least=LEAST)
    return _space(paragraphs, questions, words.weigh, words.weigh)


def of_vectors(
    paragraphs: Mapping[str, Sequence[Paragraph]],
    questions: Mapping[str, Question],
    of_paragraphs: Encode,
    of_questions: Encode,
) -> Space:
    """Return the space of a sentence encoder, whose vectors have length one."""
    return _space(paragraphs, questions, of_paragraphs, of_questions)


def _space(
    paragraphs: Mapping[str, Sequence[Paragraph]],
    questions: Mapping[str, Question],
    of_paragraphs: Callable,
    of_questions: Callable,
) -> Space:
    counts = [len(those) for those in paragraphs.values()]
    return Space(
        tuple(paragraphs),
        np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
        tuple(questions),
        of_paragraphs([paragraph.text for those in paragraphs.values() for paragraph in those]),
        of_questions([question.text for question in questions.values()]),
    )
