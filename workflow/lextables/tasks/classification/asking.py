"""Multiple-choice questions about test examples for language models; the options are the answers of a head.

The probabilities of the answers sum to one; their log odds are stored as logits.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from lextables.models.language_model import LanguageModel
from lextables.models.multiple_choice import Answered, Question, ask
from lextables.models.prompts import Template, plain_template
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import key_of, of_splits, under_view

ASKED_AT_ONCE = 256  # questions; their prompts are in memory together
_CERTAIN = 1e-9


def asked_examples(
    paths: Sequence[str | Path], settings: Mapping[str, Any], test: Sequence[str]
) -> list[tuple[str, Row]]:
    """Return (condition, example) of the examples to ask about.

    ``paths`` are the tables of examples, heads and texts.  Examples of the same text are adjacent, so that a
    model evaluates the text once.
    """
    rows = [
        row
        for row in of_splits(read(paths[0]), test)
        if not settings["only"] or row["head_id"] in settings["only"]
    ]
    readings = settings.get("readings") or [{"condition": "", "view": None}]
    examples = [
        (reading["condition"], row)
        for reading in readings
        for row in under_view(rows, reading["view"])
    ]
    return sorted(
        examples,
        key=lambda pair: (
            *key_of(pair[1]),
            pair[0],
            pair[1]["head_id"],
            pair[1]["example_id"],
        ),
    )


def answer(
    asked: Sequence[tuple[str, Row]],
    paths: Sequence[str | Path],
    settings: Mapping[str, Any],
    model: LanguageModel,
) -> tuple[list[Row], list[Answered]]:
    """Return the rows of `schema.PREDICTIONS`, or of `schema.READINGS` by condition, sorted; and the answers.

    ``settings``: ``prompt``, ``question`` (the column of the heads that words it), ``wordings`` of answers,
    ``orders`` and ``samples`` as `multiple_choice.ask` has them.  Raises `BadInput` for a missing text.
    """
    heads = {row["head_id"]: row for row in read(paths[1])}
    texts = _texts(asked, paths[2])
    characters = sum(
        len(texts[text_id]) for _, row in asked for text_id in key_of(row) if text_id
    )
    model.expect(settings["orders"] * len(asked), settings["orders"] * characters)
    questions = _questions([row for _, row in asked], heads, texts, settings)
    answers: list[Answered] = []
    while several := list(islice(questions, ASKED_AT_ONCE)):
        answers += ask(model, several, settings["samples"], settings["orders"])
    rows = [
        _row(condition, row, answered)
        for (condition, row), answered in zip(asked, answers, strict=True)
    ]
    return sorted(
        rows,
        key=lambda row: (row.get("condition", ""), row["head_id"], row["example_id"]),
    ), answers


def _texts(asked: Iterable[tuple[str, Row]], path: str | Path) -> dict[str, str]:
    text_ids = {text_id for _, row in asked for text_id in key_of(row) if text_id}
    texts = {
        row["text_id"]: row["text"]
        for row in read(path, ["text_id", "text"])
        if row["text_id"] in text_ids
    }
    if missing := sorted(text_ids - texts.keys()):
        raise BadInput(
            f"the text {missing[0]!r} is not there",
            where=str(path),
            do="make the data set again",
        )
    return texts


def _questions(
    rows: Iterable[Row],
    heads: Mapping[str, Row],
    texts: Mapping[str, str],
    settings: Mapping[str, Any],
) -> Iterator[Question]:
    template: Template = plain_template(settings["prompt"])
    for row in rows:
        (text_id, second), head = key_of(row), heads[row["head_id"]]
        fields = {"text": texts[text_id]} | (
            {"second": texts[second]} if second else {}
        )
        if settings["question"]:
            fields["question"] = head[settings["question"]]
        options = tuple(
            settings["wordings"].get(answer, answer) for answer in head["answers"]
        )
        yield Question(template, fields, options, cut=("text",))


def _row(condition: str, row: Row, answered: Answered) -> Row:
    shares = [
        min(max(share, _CERTAIN), 1 - _CERTAIN) for share in answered.probabilities
    ]
    return ({"condition": condition} if condition else {}) | {
        "head_id": row["head_id"],
        "example_id": row["example_id"],
        "logits": [math.log(share) - math.log1p(-share) for share in shares],
        "probabilities": list(answered.probabilities),
    }
