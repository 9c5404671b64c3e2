"""Examples: their texts, labels and heads, training subsets, drawing order, and trials of a grid."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from lextables.pipeline.dataset import Row, parquet_file, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.schema import JOINT

Key = tuple[
    str, str
]  # the ids of a text and of the second text of its pair (empty for a single text)
# The text that a model reads: the columns with the ids of the text and, for pairs, the second text.
View: TypeAlias = Mapping[str, str | None]
PLAIN: View = {"text": "text_id", "pair": "pair_id"}


def key_of(row: Row, view: View = PLAIN) -> Key:
    """Return the ids of the text and, for a pair, the second text of an example under a view."""
    second = view["pair"] and row.get(view["pair"])
    return row[view["text"]], second or ""


def under_view(rows: Iterable[Row], view: View | None) -> Iterator[Row]:
    """Yield the examples with the ``text_id`` and ``pair_id`` of a view; unchanged if it is None."""
    for row in rows:
        yield (
            row | dict(zip(("text_id", "pair_id"), key_of(row, view), strict=True))
            if view
            else row
        )


def labels_of(row: Row) -> tuple[int, ...]:
    """Return the indices of the right answers of an example: ``labels``, or one ``label``."""
    return tuple(row["labels"]) if "labels" in row else (row["label"],)


def of_splits(rows: Iterable[Row], splits: Sequence[str]) -> Iterator[Row]:
    """Yield the examples of these splits."""
    return (row for row in rows if row["split"] in splits)


def learnt_from(
    rows: Iterable[Row], splits: Sequence[str], where: str | None
) -> Iterator[Row]:
    """Yield the training examples: those of these splits where the column ``where`` is true, if given."""
    return (row for row in of_splits(rows, splits) if where is None or row[where])


def check_test_size(rows: Iterable[Row], settings: Mapping[str, Any]) -> None:
    """Raise `BadInput` if the test has fewer examples than ``min_test`` of the settings.

    Counted are the examples of the heads ``only`` in the splits ``test`` for which the column ``where`` is
    true, if given.
    """
    if not settings.get("min_test"):
        return
    test_rows = learnt_from(rows, settings["test"], settings.get("where"))
    count = sum(
        row["head_id"] in (settings["only"] or (row["head_id"],)) for row in test_rows
    )
    if count < settings["min_test"]:
        raise BadInput(f"{count} test examples, fewer than {settings['min_test']}")


def by_head(
    rows: Iterable[Row], heads: Iterable[str], *, labelled: bool = False
) -> dict[str, list[Row]]:
    """Return {head: its examples, sorted}: example_id, text_id, pair_id and, if ``labelled``, labels."""
    examples: dict[str, list[Row]] = {head: [] for head in heads}
    for row in rows:
        if row["head_id"] in examples:
            text_id, pair_id = key_of(row)
            example = {
                "example_id": row["example_id"],
                "text_id": text_id,
                "pair_id": pair_id,
            }
            examples[row["head_id"]].append(
                example | ({"labels": labels_of(row)} if labelled else {})
            )
    return {
        head: sorted(rows, key=lambda row: row["example_id"])
        for head, rows in examples.items()
    }


def check_labels(
    rows: Iterable[Row], answers: Mapping[str, int], multi_label: bool
) -> None:
    """Raise `BadInput` for labels that do not fit ``answers``, {head: number of answers}."""
    for row in rows:
        labels, head, where = (
            labels_of(row),
            row["head_id"],
            f"example {row['example_id']}",
        )
        if head not in answers:
            raise BadInput(f"head {head!r} is not among the heads", where=where)
        if not multi_label and len(labels) != 1:
            raise BadInput(
                f"{len(labels)} right answers where the task has one an example",
                where=where,
                do="mark the task as multi_label",
            )
        for label in labels:
            if not 0 <= label < answers[head]:
                raise BadInput(
                    f"label {label} where head {head!r} has {answers[head]} answers",
                    where=where,
                )


@dataclass(frozen=True)
class Text:
    """A text, or a pair with a ``second`` text; ``key`` is that of its examples (`key_of`)."""

    key: Key
    text: str
    second: str | None = None


def texts_of(
    examples: str | Path, texts: str | Path, views: Iterable[View] = ()
) -> Iterator[Text]:
    """Yield the texts and pairs of the examples, each once, in the order of the table of texts.

    These are the texts and pairs under all ``views``, or the columns of `PLAIN` without views.  Only second
    texts are held in memory.  Raises `BadInput` for a missing second text.
    """
    several = list(views) or [PLAIN]
    with parquet_file(examples) as file:
        column_names = file.schema_arrow.names
    columns = sorted(
        {name for view in several for name in view.values() if name in column_names}
    )
    seconds_of: dict[str, set[str]] = defaultdict(set)
    for row in read(examples, columns):
        for text_id, pair_id in (key_of(row, view) for view in several):
            seconds_of[text_id].add(pair_id)
    second_ids = set().union(*seconds_of.values()) - {""}
    seconds = (
        {text_id: text for text_id, text in _stored(texts) if text_id in second_ids}
        if second_ids
        else {}
    )
    if missing := sorted(second_ids - seconds.keys()):
        named = " or ".join(sorted({view["pair"] for view in several if view["pair"]}))
        raise BadInput(
            f"the text {missing[0]!r} of the column {named} is not there", where="texts"
        )
    for text_id, text in _stored(texts):
        for pair_id in sorted(seconds_of.get(text_id, ())):
            yield Text((text_id, pair_id), text, seconds.get(pair_id))


def _stored(texts: str | Path) -> Iterator[tuple[str, str]]:
    return ((row["text_id"], row["text"]) for row in read(texts, ["text_id", "text"]))


Labels = Sequence[Sequence[int]]  # the right answers of each example of a head


def subset(
    rows: Sequence[Row], fraction: float, seed: int, *, multi_label: bool = False
) -> list[Row]:
    """Return a random share of the examples of each answer of each head, in their order (MAUD, Figure 3).

    Of n examples of an answer ⌈n × fraction⌉ are kept, so at least one (released `keep_data_part`, there
    without a seed); if ``multi_label``, of the n examples of a head.  The heads' samples are independent.
    """
    if not 0 < fraction <= 1:
        raise BadInput(
            f"fraction = {fraction} is not above 0 and at most 1", where="training size"
        )
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        groups[row["head_id"], "" if multi_label else str(labels_of(row)[0])].append(
            index
        )
    drawn: set[int] = set()
    for (head_id, label), members in groups.items():
        members.sort(key=lambda index: rows[index]["example_id"])
        order = _generator(seed, "subset", head_id, label).permutation(len(members))
        drawn.update(members[i] for i in order[: math.ceil(len(members) * fraction)])
    return [row for index, row in enumerate(rows) if index in drawn]


def _generator(seed: int, *names: str) -> np.random.Generator:
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def balanced(labels: Labels, generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` (one answer each) endlessly, every answer equally often (MAUD, A.4).

    In a shuffled pass each answer appears as often as the most frequent one has examples.  Within an answer,
    examples repeat evenly; those with one more repetition are drawn for each pass (the released `oversample`
    always takes the first).
    """
    answers = np.array([answer for (answer,) in labels])
    of_answer = [np.flatnonzero(answers == answer) for answer in np.unique(answers)]
    most = max(len(indices) for indices in of_answer)
    while True:
        repeated = [
            np.resize(generator.permutation(indices), most) for indices in of_answer
        ]
        yield from generator.permutation(np.concatenate(repeated)).tolist()


def shuffled(labels: Labels, generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` endlessly, each once in a pass, every pass in a new order."""
    while True:
        yield from generator.permutation(len(labels)).tolist()


QUEUES: dict[str, Callable[[Labels, np.random.Generator], Iterator[int]]] = {
    "balanced": balanced,
    "shuffled": shuffled,
}


def draws(
    labels: Mapping[str, Labels], total: int, seed: int, sampling: str = "balanced"
) -> np.ndarray:
    """Return ``total`` training examples in drawing order: int64 (total, 2), head number and example.

    Heads, numbered in sorted order, take turns of one example, in rounds with a new order each (MAUD's text;
    each update of its released multi-task script is of one head).  Each head has its own queue (one of
    `QUEUES`), which does not depend on the other heads.  ``labels`` are those of each head's training
    examples.
    """
    queues = [
        QUEUES[sampling](of_head, _generator(seed, "queue", head))
        for head, of_head in sorted(labels.items())
    ]
    rounds = _generator(seed, "rounds")
    drawn = np.empty((total, 2), dtype=np.int64)
    at = 0
    while at < total:
        for head in rounds.permutation(len(queues)):
            if at < total:
                drawn[at] = head, next(queues[head])
                at += 1
    return drawn


Trial = Mapping[str, Any]  # learning_rate, and updates: when the model is read


def trials(
    settings: Mapping[str, Any],
    heads: Iterable[str],
    choice: Mapping[str, Trial] | None = None,
) -> dict[str, Trial]:
    """Return the trial of each head, or of `JOINT` for a multi-task model.

    Heads missing from ``choice`` (no search could score them), or all without a choice, use the run's
    settings.
    """
    own = {name: settings[name] for name in ("learning_rate", "updates")}
    names = [JOINT] if settings["setting"] == "multi" else sorted(heads)
    return {name: (choice or {}).get(name, own) for name in names}
