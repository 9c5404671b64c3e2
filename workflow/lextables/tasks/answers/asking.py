"""Questions about documents, asked of a language model.

It gives a distribution over a question's options (Marotta-Wurgler and Stein, Section 5: the tree of its
answers is gone through by their log-probabilities), after the whole document, or after the paragraphs whose
words are most like the question.  And it says of a paragraph whether it is relevant to a question: of each
question the paragraphs most like it are asked about, and the others are taken for irrelevant.

What is asked of one text follows one another, so that the text, which begins every prompt, is evaluated once.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from lextables.models.language_model import LanguageModel
from lextables.models.multiple_choice import ANSWER_TOKENS, Answered, Question, ask, counts
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import write
from lextables.pipeline.errors import BadInput
from lextables.tasks.answers import collection
from lextables.tasks.answers.collection import Collection, pairs, prediction_rows
from lextables.tasks.answers.marking import marked_rows
from lextables.tasks.answers.schema import MARKED, PREDICTIONS
from lextables.tasks.answers.space import Space, of_words
from lextables.tasks.answers.texts import texts

WHOLE = "whole"
RELEVANT = ("Yes", "No")
TOGETHER = 1000  # questions about paragraphs; their prompts are in memory at once
Settings = Mapping[str, Any]
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Asker:
    """A model and what a run's ``settings`` say of asking it: ``prompt``, ``samples`` and ``orders``."""

    model: LanguageModel
    settings: Settings

    @property
    def template(self) -> Template:
        return plain_template(self.settings["prompt"])

    def question(self, text: str, question: collection.Question, options: tuple[str, ...]) -> Question:
        """A question about a text, of which a beginning is shown where it may be cut and does not fit."""
        cut = () if self.settings.get("text") == WHOLE else ("text",)
        return Question(self.template, {"text": text, "question": question.question}, options, cut)

    def expect(self, texts: Iterable[str]) -> None:
        """Say what is to come: a question, with the rest of its prompt, about each of ``texts``."""
        around = sum(len(part.content) for part in self.template.parts)
        lengths = [len(text) + around for text in texts]
        orders = self.settings["orders"]
        self.model.expect(orders * len(lengths), orders * sum(lengths))

    def ask(self, questions: Sequence[Question]) -> list[Answered]:
        return ask(self.model, questions, self.settings["samples"], self.settings["orders"])


def answer(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Settings,
    model: LanguageModel,
    output: str | Path,
) -> dict[str, Any]:
    """Write the answers to every pair whose document has a text, as `PREDICTIONS`; return the record.

    ``data`` are `collection.ANSWERED_FROM`.  The model reads ``settings["text"]``: `whole` documents, or the
    ``best`` paragraphs of each for a question.  `BadInput`, before anything is asked, where a whole document
    is known to be too long for its window.  The longest is asked about first: a server, which alone knows how
    many tokens it has, refuses it before anything is paid.
    """
    known = collection.load(data, names)
    asker, shown = Asker(model, settings), dict(texts(known, settings))
    batches = [(document, [name for _, name in those]) for document, those in groupby(shown, itemgetter(0))]

    def asked(document: str, those: Iterable[str]) -> list[Question]:
        each = ((shown[document, name], known.questions[name]) for name in those)
        return [asker.question(text, question, question.options) for text, question in each]

    if settings["text"] == WHOLE and batches:
        longest = max(batches, key=lambda batch: len(shown[batch[0], batch[1][0]]))
        _check_window(model, asked(*longest), longest[0])
        batches = [longest, *(batch for batch in batches if batch is not longest)]
    log.info("%d questions about %d documents for %s", len(shown), len(batches), model.name)
    asker.expect(shown.values())
    given, answered = {}, []
    for document, those in tqdm(batches, desc="documents", mininterval=10):
        found = asker.ask(asked(document, those))
        given |= {(document, name): one.probabilities for name, one in zip(those, found, strict=True)}
        answered += found
    write(PREDICTIONS, prediction_rows(given), output)
    return {"pairs": len(given), "asked": counts(answered)}


def mark(
    data: Sequence[str | Path],
    names: Mapping[str, str],
    settings: Settings,
    model: LanguageModel,
    output: str | Path,
) -> dict[str, Any]:
    """Write how relevant the model finds each paragraph to each question, as `MARKED`; return the record.

    It is asked about the ``settings["best"]`` paragraphs of a document for a question.
    """
    known = collection.load(data, names)
    paragraphs = [one.text for those in known.paragraphs.values() for one in those]
    given = np.zeros((len(paragraphs), len(known.questions)))
    asker, kinds = Asker(model, settings), [*known.questions.values()]
    places = _likeliest(of_words(known.paragraphs, known.questions), known, settings["best"])
    log.info(
        "%d questions about %d paragraphs for %s", len(places), len({*map(itemgetter(0), places)}), model.name
    )
    asker.expect(paragraphs[row] for row, _ in places)
    answered = []
    for start in tqdm(range(0, len(places), TOGETHER), desc="thousands of questions", mininterval=10):
        here = places[start : start + TOGETHER]
        found = asker.ask([asker.question(paragraphs[row], kinds[column], RELEVANT) for row, column in here])
        for (row, column), one in zip(here, found, strict=True):
            given[row, column] = one.probabilities[0]
        answered += found
    rows = write(MARKED, marked_rows(known, given), output)
    return {"rows": rows, "asked": counts(answered)}


def _check_window(model: LanguageModel, asked: Iterable[Question], document: str) -> None:
    """Raise `BadInput` where the model's window does not hold a document with each of its questions."""
    if model.window is None:
        return
    fewest = getattr(model, "fewest_tokens", None)
    count = fewest or model.tokens
    tokens = ANSWER_TOKENS + max(count(question.prompt(model)[0]) for question in asked)
    if tokens > model.window:
        takes = f"{tokens} or more" if fewest else f"{tokens}"
        raise BadInput(
            f"the window of {model.name} has {model.window} tokens, and {document} takes {takes}",
            where="text: whole",
            do="let it read the paragraphs that are retrieved",
        )


def _likeliest(space: Space, known: Collection, best: int) -> list[tuple[int, int]]:
    """(paragraph, question): of each answered pair the paragraphs most like the question, text by text."""
    return sorted(
        (int(row), space.column[question])
        for document, question in pairs(known.shares, space.place)
        for row in space.best(space.place[document], space.column[question], best)
    )
