"""The heads and examples of a run, checked before training."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import (
    by_head,
    check_labels,
    key_of,
    labels_of,
    learnt_from,
    of_splits,
)
from lextables.tasks.classification.features import Tokens
from lextables.tasks.classification.sampling import subset


@dataclass(frozen=True)
class Material:
    """The answers, training examples and test examples of each head (`examples.by_head`)."""

    answers: Mapping[str, Sequence[str]]
    training: Mapping[str, Sequence[Row]]
    asked: Mapping[str, Sequence[Row]]


def material(
    settings: Mapping[str, Any],
    examples: Iterable[Row],
    heads: Iterable[Row],
    tokens: Tokens,
    splits: tuple[Sequence[str], Sequence[str]],
    seed: int,
) -> Material:
    """Return the heads and examples of a run; ``splits`` are those for training and those to read.

    A head needs two different answers in training and one example to read.  The settings restrict heads to
    ``only`` some or, for single-task models, to a number (``heads``).  Raises `BadInput` for invalid rows, or
    if no head is left.
    """
    rows, known, multi_label = list(examples), list(heads), settings["multi_label"]
    if settings["only"]:
        rows, known = ([row for row in part if row["head_id"] in settings["only"]] for part in (rows, known))
    training = list(learnt_from(rows, splits[0], settings["where"]))
    asked = list(of_splits(rows, splits[1]))
    check_labels(training, {head["head_id"]: len(head["answers"]) for head in known}, multi_label)
    training = subset(training, settings["percent"] / 100, seed, multi_label=multi_label)
    most = settings["heads"] if settings["setting"] == "single" else None
    answers = spread(usable(known, training, asked), most)
    _check_texts((row for row in (*training, *asked) if row["head_id"] in answers), tokens)
    return Material(answers, by_head(training, answers, labelled=True), by_head(asked, answers))


def usable(heads: Iterable[Row], training: Iterable[Row], asked: Iterable[Row]) -> dict[str, list[str]]:
    """Return {head: answers} of the heads that can be trained and read, sorted by head."""
    seen: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for row in training:
        seen[row["head_id"]].add(labels_of(row))
    wanted = {row["head_id"] for row in asked}
    found = {
        head["head_id"]: list(head["answers"])
        for head in heads
        if len(seen[head["head_id"]]) > 1 and head["head_id"] in wanted
    }
    if not found:
        raise BadInput("no head has two answers in training and an example to read", where="examples")
    return dict(sorted(found.items()))


def spread(answers: Mapping[str, list[str]], most: int | None) -> dict[str, list[str]]:
    """Return ``most`` heads, evenly spaced in their order; all for None."""
    names = list(answers)
    if most is None or most >= len(names):
        return dict(answers)
    return {names[i * len(names) // most]: answers[names[i * len(names) // most]] for i in range(most)}


def _check_texts(rows: Iterable[Row], tokens: Tokens) -> None:
    for row in rows:
        if (key := key_of(row)) not in tokens.position:
            named = " with ".join(repr(text_id) for text_id in key if text_id)
            raise BadInput(f"text {named} has no tokens", where=f"example {row['example_id']}")
