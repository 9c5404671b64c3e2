"""Questions about documents for language models.

Answers are distributions over a question's options (Marotta-Wurgler and Stein, Section 5, use the model's
log-probabilities), after the whole document or the paragraphs most similar to the question.  Marks are the
probabilities that a paragraph is relevant to a question; only the paragraphs most similar to the question are
asked about, and the others get 0.

Prompts that begin with the same text are adjacent, so that a model evaluates the text once.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from lextables.models.language_model import LanguageModel
from lextables.models.multiple_choice import (
    ANSWER_TOKENS,
    Answered,
    Question,
    ask,
    counts,
)
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers import collection
from lextables.tasks.answers.collection import (
    MARKED,
    PREDICTIONS,
    Collection,
    Space,
    marked_rows,
    of_words,
    pairs,
    prediction_rows,
)

WHOLE_DOCUMENT = "whole"
RELEVANT = ("Yes", "No")
BATCH = 1000  # questions about paragraphs; their prompts are in memory together
BETWEEN_PARAGRAPHS = "\n\n"

Settings = Mapping[str, Any]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asker:
    """A model with the ``settings`` of its questions: ``prompt``, ``samples`` and ``orders``."""

    model: LanguageModel
    settings: Settings

    @property
    def template(self) -> Template:
        return plain_template(self.settings["prompt"])

    def question(
        self, text: str, question: collection.Question, options: tuple[str, ...]
    ) -> Question:
        """Return a question about a text; a text that does not fit is truncated, except whole documents."""
        cut = () if self.settings.get("text") == WHOLE_DOCUMENT else ("text",)
        return Question(
            self.template, {"text": text, "question": question.question}, options, cut
        )

    def expect(self, texts: Iterable[str]) -> None:
        """Announce one question about each of ``texts`` to the model."""
        around = sum(len(part.content) for part in self.template.parts)
        lengths = [len(text) + around for text in texts]
        orders = self.settings["orders"]
        self.model.expect(orders * len(lengths), orders * sum(lengths))

    def ask(self, questions: Sequence[Question]) -> list[Answered]:
        return ask(
            self.model, questions, self.settings["samples"], self.settings["orders"]
        )


def texts(
    data: Collection, settings: Settings
) -> Iterator[tuple[tuple[str, str], str]]:
    """Yield ((document, question), text to read) for each answered pair, sorted.

    The settings' ``text`` is `whole` (the document) or `retrieved` (its ``best`` paragraphs for the question,
    in reading order).
    """
    if settings["text"] == WHOLE_DOCUMENT:
        documents = {
            name: BETWEEN_PARAGRAPHS.join(paragraph.text for paragraph in paragraphs)
            for name, paragraphs in data.paragraphs.items()
        }
        for document, question in pairs(data.shares, documents):
            yield (document, question), documents[document]
        return
    words = of_words(data)
    for document, question in pairs(data.shares, data.paragraphs):
        place = words.place[document]
        rows = (
            words.best(place, words.column[question], settings["best"])
            - words.of(place).start
        )
        paragraphs = (data.paragraphs[document][row].text for row in rows.tolist())
        yield (document, question), BETWEEN_PARAGRAPHS.join(paragraphs)


def answer(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Settings,
    model: LanguageModel,
    output: str | Path,
) -> dict[str, Any]:
    """Write the answers to all answered pairs of documents with a text (`PREDICTIONS`); return the record.

    ``data`` are the tables `collection.ANSWERED_FROM`.  Raises `BadInput`, before any request, if a whole
    document does not fit the model's window.  The longest document is asked about first, so that a server,
    which alone may know its tokens, refuses it before anything is paid for.
    """
    loaded = collection.load(data, names)
    asker, text_of = Asker(model, settings), dict(texts(loaded, settings))
    batches = [
        (document, [name for _, name in keys])
        for document, keys in groupby(text_of, itemgetter(0))
    ]

    def questions(document: str, names: Iterable[str]) -> list[Question]:
        answer_pairs = (
            (text_of[document, name], loaded.questions[name]) for name in names
        )
        return [
            asker.question(text, question, question.options)
            for text, question in answer_pairs
        ]

    if settings["text"] == WHOLE_DOCUMENT and batches:
        longest = max(batches, key=lambda batch: len(text_of[batch[0], batch[1][0]]))
        _check_window(model, questions(*longest), longest[0])
        batches = [longest, *(batch for batch in batches if batch is not longest)]
    log.info(
        "%d questions about %d documents for %s", len(text_of), len(batches), model.name
    )
    asker.expect(text_of.values())
    predicted, answered = {}, []
    for document, question_names in tqdm(batches, desc="documents", mininterval=10):
        answers = asker.ask(questions(document, question_names))
        predicted |= {
            (document, name): answer_pairs.probabilities
            for name, answer_pairs in zip(question_names, answers, strict=True)
        }
        answered += answers
    write(PREDICTIONS, prediction_rows(predicted), output)
    return {"pairs": len(predicted), "asked": counts(answered)}


def mark(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Settings,
    model: LanguageModel,
    output: str | Path,
) -> dict[str, Any]:
    """Write the relevance of each paragraph to each question (`MARKED`); return the record.

    The model is asked about the ``settings["best"]`` paragraphs of a document for each question.
    """
    loaded = collection.load(data, names)
    paragraphs = loaded.texts()
    probabilities = np.zeros((len(paragraphs), len(loaded.questions)))
    asker, questions = Asker(model, settings), [*loaded.questions.values()]
    places = _most_similar(of_words(loaded), loaded, settings["best"])
    rows = {row for row, _ in places}
    log.info(
        "%d questions about %d paragraphs for %s", len(places), len(rows), model.name
    )
    asker.expect(paragraphs[row] for row, _ in places)
    answered = []
    for start in tqdm(
        range(0, len(places), BATCH), desc="thousands of questions", mininterval=10
    ):
        batch = places[start : start + BATCH]
        answers = asker.ask(
            [
                asker.question(paragraphs[row], questions[column], RELEVANT)
                for row, column in batch
            ]
        )
        for (row, column), reply in zip(batch, answers, strict=True):
            probabilities[row, column] = reply.probabilities[0]
        answered += answers
    written = write(MARKED, marked_rows(loaded, probabilities), output)
    return {"rows": written, "asked": counts(answered)}


def _check_window(
    model: LanguageModel, questions: Iterable[Question], document: str
) -> None:
    """Raise `BadInput` if a document does not fit the model's window with each of its questions."""
    if model.window is None:
        return
    fewest = getattr(model, "fewest_tokens", None)
    count = fewest or model.tokens
    tokens = ANSWER_TOKENS + max(
        count(question.prompt(model)[0]) for question in questions
    )
    if tokens > model.window:
        needed = f"at least {tokens}" if fewest else f"{tokens}"
        raise BadInput(
            f"{document} needs {needed} tokens, but the window of {model.name} has {model.window}",
            where="text: whole",
            do="let it read retrieved paragraphs",
        )


def _most_similar(space: Space, data: Collection, best: int) -> list[tuple[int, int]]:
    """Return (paragraph, question) of the most similar paragraphs of each answered pair, by paragraph."""
    return sorted(
        (int(row), space.column[question])
        for document, question in pairs(data.shares, space.place)
        for row in space.best(space.place[document], space.column[question], best)
    )
