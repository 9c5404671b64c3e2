"""Multiple-choice questions about test examples; the options are a head's answers.

The probabilities of the answers sum to one; their log odds are stored as logits.  If
several answers have the highest probability, one of them is drawn: metrics would always
choose the first of the list, perhaps the same answer for all examples.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lextables.models.language_model import LanguageModel
from lextables.models.multiple_choice import Answered, ChoiceQuestion, ask
from lextables.models.prompts import plain_template
from lextables.pipeline.dataset import Row, batched, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import (
    key_of,
    number_of,
    of_heads,
    of_splits,
    under_view,
    with_condition,
)
from lextables.tasks.classification.settings import AskingSettings, Reading

ASKED_AT_ONCE = 256  # questions; their prompts are in memory together
# Added to the probability of a drawn answer; large enough for single precision.
_RAISE = 1e-6
_EQUAL = 1e-9  # probabilities that differ by less are equal
_CERTAIN = 1e-9  # for log odds, probabilities are at least this far from 0 and 1


class AskedExample(NamedTuple):
    """An example to ask about; the condition is empty in a task without views."""

    condition: str
    example: Row


class AskedFiles(NamedTuple):
    """The tables of a data set."""

    examples: str | Path
    heads: str | Path
    texts: str | Path


def asked_examples(
    files: AskedFiles, settings: AskingSettings, test: Sequence[str]
) -> list[AskedExample]:
    """Return the examples of the splits ``test`` to ask about, under each reading.

    Examples of the same text are adjacent, so that a model evaluates the text once.
    """
    rows = list(of_heads(of_splits(read(files.examples), test), settings.only))
    asked = []
    for reading in settings.readings or [Reading()]:
        for row in under_view(rows, reading.view):
            asked.append(AskedExample(reading.condition, row))

    def order(asked: AskedExample) -> tuple[str, ...]:
        row = asked.example
        return (*key_of(row), asked.condition, row["head_id"], row["example_id"])

    return sorted(asked, key=order)


def answer(
    asked: Sequence[AskedExample],
    files: AskedFiles,
    settings: AskingSettings,
    model: LanguageModel,
) -> tuple[list[Row], list[Answered]]:
    """Return the predictions, sorted, and the answers in the order of ``asked``.

    The predictions are rows of `schema.PREDICTIONS`, in a task with views of
    `schema.READINGS`.  Raises `BadInput` for a missing text.
    """
    heads = {row["head_id"]: row for row in read(files.heads)}
    texts = _texts(asked, files.texts)
    texts[""] = ""  # the second text of an example with one text
    characters = 0
    for _, row in asked:
        first, second = key_of(row)
        characters += len(texts[first]) + len(texts[second])
    model.expect(settings.orders * len(asked), settings.orders * characters)
    questions = _questions(asked, heads, texts, settings)
    answers: list[Answered] = []
    for part in batched(questions, ASKED_AT_ONCE):
        answers += ask(model, part, settings.samples, settings.orders)
    rows: list[Row] = []
    for (condition, row), answered in zip(asked, answers, strict=True):
        rows += with_condition([_prediction(row, answered)], condition)
    names = ("condition", "head_id", "example_id")
    rows.sort(key=lambda row: [row.get(name, "") for name in names])
    return rows, answers


def _texts(asked: Iterable[AskedExample], path: str | Path) -> dict[str, str]:
    """Return {text id: text} of the examples; `BadInput` if one is missing."""
    text_ids: set[str] = set()
    for _, row in asked:
        text_ids.update(key_of(row))
    text_ids.discard("")
    texts = {}
    for row in read(path, ["text_id", "text"]):
        if row["text_id"] in text_ids:
            texts[row["text_id"]] = row["text"]
    missing = text_ids - texts.keys()
    if missing:
        what = f"the text {min(missing)!r} is not there"
        raise BadInput(what, where=str(path), do="make the data set again")
    return texts


def _questions(
    asked: Iterable[AskedExample],
    heads: Mapping[str, Row],
    texts: Mapping[str, str],
    settings: AskingSettings,
) -> Iterator[ChoiceQuestion]:
    """Yield the question about each example."""
    template = plain_template(settings.prompt)
    for _, row in asked:
        text_id, second = key_of(row)
        head = heads[row["head_id"]]
        fields = {"text": texts[text_id]}
        if second:
            fields["second"] = texts[second]
        if settings.question:
            fields["question"] = head[settings.question]
        wordings = settings.wordings
        options = [wordings.get(answer, answer) for answer in head["answers"]]
        yield ChoiceQuestion(template, fields, tuple(options), cut=("text",))


def _prediction(row: Row, answered: Answered) -> Row:
    """Return the row of `schema.PREDICTIONS` for an example."""
    probabilities = untied(answered.probabilities, row["head_id"], row["example_id"])
    logits = []
    for probability in probabilities:
        share = min(max(probability, _CERTAIN), 1 - _CERTAIN)
        logits.append(math.log(share) - math.log1p(-share))
    return {
        "head_id": row["head_id"],
        "example_id": row["example_id"],
        "logits": logits,
        "probabilities": probabilities,
    }


def untied(probabilities: Sequence[float], *ids: str) -> list[float]:
    """Return the probabilities; of several highest ones, one is raised by `_RAISE`.

    Which one depends only on the ``ids`` of the example, not on the model.
    """
    highest = max(probabilities)
    tied = []
    for place, probability in enumerate(probabilities):
        if highest - probability < _EQUAL:
            tied.append(place)
    if len(tied) == 1:
        return list(probabilities)
    drawn = tied[number_of(*ids) % len(tied)]
    raised = list(probabilities)
    raised[drawn] += _RAISE
    return [probability / (1 + _RAISE) for probability in raised]
