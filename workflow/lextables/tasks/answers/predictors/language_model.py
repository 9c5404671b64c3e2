"""Predictions of language models that are asked about documents.

An answer is a distribution over a question's options (Marotta-Wurgler and Stein,
Section 5, use the model's log-probabilities).  The model reads the whole document, or
the paragraphs most similar to the question.  A mark is the probability that a paragraph
is relevant to a question.  Only the paragraphs most similar to the question are asked
about; the others, and those without an answer, get 0.

Prompts that begin with the same text are adjacent, so that a model evaluates the text
once.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from tqdm import tqdm

from lextables.models import cached_model
from lextables.models.language_model import LanguageModel, note_asked
from lextables.models.multiple_choice import (
    ANSWER_TOKENS,
    Answered,
    ChoiceQuestion,
    ask,
    counts,
)
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers.collection import (
    BETWEEN_PARAGRAPHS,
    Collection,
    Space,
    of_words,
    pairs,
)
from lextables.tasks.answers.prediction import Prediction
from lextables.tasks.answers.settings import WHOLE_DOCUMENT, AskingSettings

RELEVANT = ("Yes", "No")
BATCH = 1000  # questions about paragraphs; their prompts are in memory together

# {(document, question): probabilities}
Answers = dict[tuple[str, str], Sequence[float]]

_log = logging.getLogger("lextables")


@dataclass(frozen=True)
class Asker:
    """A model with the settings of its questions."""

    model: LanguageModel
    settings: AskingSettings

    @property
    def template(self) -> Template:
        return plain_template(self.settings.prompt)

    def question(
        self, text: str, question: str, options: tuple[str, ...]
    ) -> ChoiceQuestion:
        """Return a question about a text.

        A text that does not fit is truncated, except whole documents.
        """
        cut = () if self.settings.text == WHOLE_DOCUMENT else ("text",)
        fields = {"text": text, "question": question}
        return ChoiceQuestion(self.template, fields, options, cut)

    def expect(self, texts: Iterable[str]) -> None:
        """Announce one question about each of ``texts`` to the model."""
        around = sum(len(part.content) for part in self.template.parts)
        lengths = [len(text) + around for text in texts]
        orders = self.settings.orders
        self.model.expect(orders * len(lengths), orders * sum(lengths))

    def ask(self, questions: Sequence[ChoiceQuestion]) -> list[Answered]:
        samples = self.settings.samples
        orders = self.settings.orders
        return ask(self.model, questions, samples, orders)


def answer(job: Prediction) -> Answers:
    """Return the answers to all answered pairs of documents with a text."""
    asker = _asker(job)
    answers, answered = answers_of(job.collection, asker)
    note_asked(job.record, asker.model, counts(answered))
    return answers


def mark(job: Prediction) -> np.ndarray:
    """Return the relevance of paragraphs, float64 (paragraphs, questions)."""
    asker = _asker(job)
    probabilities, answered = marks_of(job.collection, asker)
    note_asked(job.record, asker.model, counts(answered))
    return probabilities


def _asker(job: Prediction) -> Asker:
    settings = job.settings
    assert isinstance(settings, AskingSettings)
    return Asker(cached_model.of_job(settings.plain(), job), settings)


def texts(
    data: Collection, settings: AskingSettings
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((document, question), text to read) for each answered pair, sorted.

    The text is the document, or its `best` paragraphs for the question in reading
    order.
    """
    if settings.text == WHOLE_DOCUMENT:
        documents = {}
        for name, paragraphs in data.paragraphs.items():
            texts_of_document = [paragraph.text for paragraph in paragraphs]
            documents[name] = BETWEEN_PARAGRAPHS.join(texts_of_document)
        for document, question in pairs(data.shares, documents):
            yield (document, question), documents[document]
        return
    words = of_words(data)
    for document, question in pairs(data.shares, data.paragraphs):
        place = words.place[document]
        best = words.best(place, words.column[question], settings.best)
        rows = best - words.of(place).start
        paragraphs = data.paragraphs[document]
        shown = [paragraphs[row].text for row in rows.tolist()]
        text = BETWEEN_PARAGRAPHS.join(shown)
        yield (document, question), text


def answers_of(data: Collection, asker: Asker) -> tuple[Answers, list[Answered]]:
    """Ask about all answered pairs of documents with a text.

    Return the probabilities by pair, and all answers.  Raises `BadInput`, before any
    request, if a whole document does not fit the model's window.  The longest document
    is asked about first: if only the server can count its tokens, the server refuses it
    before anything is paid for.
    """
    model = asker.model
    text_of = dict(texts(data, asker.settings))
    batches = [list(keys) for _, keys in groupby(text_of, itemgetter(0))]

    def questions(keys: Iterable[tuple[str, str]]) -> Iterator[ChoiceQuestion]:
        for key in keys:
            _, name = key
            question = data.questions[name]
            yield asker.question(text_of[key], question.question, question.options)

    if asker.settings.text == WHOLE_DOCUMENT and batches:
        longest = max(batches, key=lambda keys: len(text_of[keys[0]]))
        document, _ = longest[0]
        _check_window(model, questions(longest), document)
        batches.remove(longest)
        batches.insert(0, longest)
    counted = (len(text_of), len(batches), model.name)
    _log.info("%d questions about %d documents for %s", *counted)
    asker.expect(text_of.values())
    answers: Answers = {}
    answered: list[Answered] = []
    for keys in tqdm(batches, desc="documents", mininterval=10):
        replies = asker.ask(list(questions(keys)))
        for key, reply in zip(keys, replies, strict=True):
            answers[key] = reply.probabilities
        answered += replies
    return answers, answered


def marks_of(data: Collection, asker: Asker) -> tuple[np.ndarray, list[Answered]]:
    """Ask about the `best` paragraphs of a document for each question.

    Return the marks and all answers.  The marks are float64 (paragraphs, questions),
    0 for a paragraph without an answer.
    """
    paragraphs = data.texts()
    questions = list(data.questions.values())
    probabilities = np.zeros((len(paragraphs), len(questions)))
    places = _most_similar(of_words(data), data, asker.settings.best)
    rows = [row for row, _ in places]
    counted = (len(places), len(set(rows)), asker.model.name)
    _log.info("%d questions about %d paragraphs for %s", *counted)
    asker.expect(paragraphs[row] for row in rows)
    answered: list[Answered] = []
    starts = range(0, len(places), BATCH)
    for start in tqdm(starts, desc="thousands of questions", mininterval=10):
        batch = places[start : start + BATCH]
        asked = []
        for row, column in batch:
            question = questions[column]
            # `text` also has the options, as in Section 5 of the paper ("question text
            # and option descriptions").
            asked.append(asker.question(paragraphs[row], question.text, RELEVANT))
        replies = asker.ask(asked)
        for place, reply in zip(batch, replies, strict=True):
            if any(order.winners for order in reply.orders):
                probabilities[place] = reply.probabilities[0]
        answered += replies
    return probabilities, answered


def _check_window(
    model: LanguageModel, questions: Iterable[ChoiceQuestion], document: str
) -> None:
    """Raise `BadInput` if a document does not fit the window with each question."""
    if model.window is None:
        return
    # If only its server can count tokens, the model has a lower bound of their number.
    fewest = getattr(model, "fewest_tokens", None)
    count = fewest or model.tokens
    lengths = [
        count(question.prompt(model, question.options)[0]) for question in questions
    ]
    tokens = ANSWER_TOKENS + max(lengths)
    if tokens > model.window:
        needed = f"at least {tokens}" if fewest else f"{tokens}"
        raise BadInput(
            f"{document} needs {needed} tokens, but the window of {model.name} has "
            f"{model.window}",
            where="text: whole",
            do="let it read retrieved paragraphs",
        )


def _most_similar(space: Space, data: Collection, best: int) -> list[tuple[int, int]]:
    """Return (paragraph, question) of the most similar paragraphs, by paragraph.

    They are ``best`` of each answered pair.
    """
    places = []
    for document, question in pairs(data.shares, space.place):
        column = space.column[question]
        rows = space.best(space.place[document], column, best)
        places += [(int(row), column) for row in rows]
    return sorted(places)
