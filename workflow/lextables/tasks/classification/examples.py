"""The examples of a classification task: their texts and labels, training subsets, and
the order in which they are drawn; and the trials of a search.

A head is one question of the task, with its own answers.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypedDict

import numpy as np

from lextables.models.settings import limited_updates
from lextables.pipeline.dataset import Row, parquet_file, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.schema import JOINT
from lextables.tasks.classification.settings import (
    BLANK,
    ExampleSelection,
    TrainingSettings,
    View,
)

# The ids of a text and of the second text of its pair (empty for a single text).
Key = tuple[str, str]
# {head: some of its examples, sorted by id} (`by_head`)
RowsByHead = Mapping[str, Sequence[Row]]
# The view in a task without views.
PLAIN = View(text="text_id", pair="pair_id")


def key_of(row: Row, view: View = PLAIN) -> Key:
    """Return the ids of the text and, for a pair, the second text of an example.

    A blank side has the id `BLANK`.
    """
    first = BLANK if view.text == BLANK else row[view.text]
    if view.pair == BLANK:
        return first, BLANK
    second = row.get(view.pair) if view.pair else None
    return first, second or ""


def named(key: Key) -> str:
    """Return the ids of a text or pair for a message."""
    return " with ".join(repr(text_id) for text_id in key if text_id)


def under_view(rows: Iterable[Row], view: View | None) -> Iterator[Row]:
    """Yield examples whose ``text_id`` and ``pair_id`` are those of a view.

    Without a view the examples are unchanged.
    """
    for row in rows:
        if view:
            text_id, pair_id = key_of(row, view)
            row = {**row, "text_id": text_id, "pair_id": pair_id}
        yield row


def with_condition(rows: Iterable[Row], condition: str) -> Iterator[Row]:
    """Yield predictions with the ``condition`` of their reading, if it has one."""
    for row in rows:
        yield {"condition": condition, **row} if condition else row


def labels_of(row: Row) -> tuple[int, ...]:
    """Return the indices of the right answers: ``labels``, or one ``label``."""
    return tuple(row["labels"]) if "labels" in row else (row["label"],)


def of_splits(rows: Iterable[Row], splits: Sequence[str]) -> Iterator[Row]:
    """Yield the examples of these splits."""
    return (row for row in rows if row["split"] in splits)


def training_rows(
    rows: Iterable[Row], splits: Sequence[str], selection: ExampleSelection
) -> list[Row]:
    """Return the selected examples of these splits.

    They belong to the selection's heads, and the column that the selection names as
    ``where``, if it names one, is true for them.
    """
    chosen = []
    for row in of_splits(of_heads(rows, selection.only), splits):
        if selection.where is None or row[selection.where]:
            chosen.append(row)
    return chosen


def of_heads(rows: Iterable[Row], heads: Collection[str]) -> Iterator[Row]:
    """Yield the examples of ``heads``, or all if ``heads`` is empty."""
    return (row for row in rows if not heads or row["head_id"] in heads)


def check_test_size(rows: Iterable[Row], selection: ExampleSelection) -> None:
    """Raise `BadInput` if the test has fewer examples than ``min_test``."""
    if not selection.min_test:
        return
    count = len(training_rows(rows, selection.test, selection))
    if count < selection.min_test:
        raise BadInput(f"{count} test examples, fewer than {selection.min_test}")


def by_head(
    rows: Iterable[Row], heads: Iterable[str], *, labelled: bool = False
) -> dict[str, list[Row]]:
    """Return {head: its examples, sorted by id}.

    They have example_id, text_id, pair_id and, if ``labelled``, labels.
    """
    examples: dict[str, list[Row]] = {head: [] for head in heads}
    for row in rows:
        if row["head_id"] not in examples:
            continue
        text_id, pair_id = key_of(row)
        example = {"example_id": row["example_id"]}
        example.update(text_id=text_id, pair_id=pair_id)
        if labelled:
            example["labels"] = labels_of(row)
        examples[row["head_id"]].append(example)
    for head_examples in examples.values():
        head_examples.sort(key=lambda example: example["example_id"])
    return examples


def check_labels(
    rows: Iterable[Row], answers: Mapping[str, int], multi_label: bool
) -> None:
    """Raise `BadInput` for labels that do not fit {head: number of answers}."""
    for row in rows:
        labels = labels_of(row)
        head = row["head_id"]
        where = f"example {row['example_id']}"
        if head not in answers:
            raise BadInput(f"head {head!r} is not among the heads", where=where)
        if not multi_label and len(labels) != 1:
            what = f"{len(labels)} right answers where the task has one an example"
            raise BadInput(what, where=where, do="mark the task as multi_label")
        for label in labels:
            if not 0 <= label < answers[head]:
                what = f"label {label} where head {head!r} has {answers[head]} answers"
                raise BadInput(what, where=where)


@dataclass(frozen=True)
class Text:
    """A text, or a pair with a ``second`` text; ``key`` is that of its examples."""

    key: Key
    text: str
    second: str | None = None


def texts_of(
    examples: str | Path, texts: str | Path, views: Iterable[View] = ()
) -> Iterator[Text]:
    """Yield the texts and pairs of the examples, each once, in the order of ``texts``.

    These are the texts and pairs under all ``views``, or under `PLAIN` without views.
    A blank comes last.  Only second texts are held in memory.  Raises `BadInput` for a
    missing second text.
    """
    several = list(views) or [PLAIN]
    blank = [(BLANK, " ")] if any(view.has_blank for view in several) else []
    text_columns = {view.text for view in several}
    pair_columns = {view.pair for view in several if view.pair}
    with parquet_file(examples) as file:
        stored = set(file.schema_arrow.names)
    columns = sorted((text_columns | pair_columns) & stored)
    seconds_of: dict[str, set[str]] = defaultdict(set)
    for row in read(examples, columns):
        for view in several:
            text_id, pair_id = key_of(row, view)
            seconds_of[text_id].add(pair_id)
    # Second texts are read first, since pairs need both texts at once.
    second_ids = set().union(*seconds_of.values()) - {""}
    seconds = {}
    if second_ids:
        for text_id, text in chain(_stored(texts), blank):
            if text_id in second_ids:
                seconds[text_id] = text
    missing = second_ids - seconds.keys()
    if missing:
        where = " or ".join(sorted(pair_columns))
        what = f"the text {min(missing)!r} of the column {where} is not there"
        raise BadInput(what, where="texts")
    for text_id, text in chain(_stored(texts), blank):
        for pair_id in sorted(seconds_of.get(text_id, ())):
            yield Text((text_id, pair_id), text, seconds.get(pair_id))


def _stored(texts: str | Path) -> Iterator[tuple[str, str]]:
    """Yield the id and content of each text of a file."""
    for row in read(texts, ["text_id", "text"]):
        yield row["text_id"], row["text"]


Labels = Sequence[Sequence[int]]  # the right answers of each example of a head


def subset(
    rows: Sequence[Row], fraction: float, seed: int, *, multi_label: bool = False
) -> list[Row]:
    """Return a random share of the examples of each answer of each head, in their
    order.

    Of n examples of an answer ⌈n × fraction⌉ are kept, so at least one (MAUD, Figure 3;
    released `keep_data_part`, there without a seed); if ``multi_label``, of the n
    examples of a head.  The heads' samples are independent.
    """
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        label = "" if multi_label else str(labels_of(row)[0])
        groups[row["head_id"], label].append(index)
    drawn: set[int] = set()
    for (head_id, label), members in groups.items():
        members.sort(key=lambda index: rows[index]["example_id"])
        generator = _generator(seed, "subset", head_id, label)
        order = generator.permutation(len(members))
        count = math.ceil(len(members) * fraction)
        drawn.update(members[place] for place in order[:count])
    return [rows[index] for index in sorted(drawn)]


def _generator(seed: int, *names: str) -> np.random.Generator:
    """Return a generator that depends on the seed and on what it is used for."""
    return np.random.default_rng([seed, number_of(*names)])


def number_of(*names: str) -> int:
    """Return a number below 2**64 that depends on names alone, for draws."""
    digest = hashlib.sha256("\0".join(names).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def balanced(labels: Labels, generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` endlessly, every answer equally often (MAUD, A.4).

    Each of the ``labels`` is one answer.  In a shuffled pass each answer appears as
    often as the most frequent one has examples.  Within an answer, examples repeat
    evenly.  If some must be repeated once more than others, these are drawn for each
    pass (the released `oversample` always takes the first).
    """
    answers = np.array([answer for (answer,) in labels])
    indices_by_answer = [
        np.flatnonzero(answers == answer) for answer in np.unique(answers)
    ]
    most = max(map(len, indices_by_answer))
    while True:
        repeated = []
        for indices in indices_by_answer:
            order = generator.permutation(indices)
            # np.resize repeats the order from its start.
            repeated.append(np.resize(order, most))
        one_pass = generator.permutation(np.concatenate(repeated))
        yield from one_pass.tolist()


def shuffled(labels: Labels, generator: np.random.Generator) -> Iterator[int]:
    """Yield indices into ``labels`` endlessly, each once in a pass, in a new order."""
    while True:
        yield from generator.permutation(len(labels)).tolist()


QUEUES: dict[str, Callable[[Labels, np.random.Generator], Iterator[int]]] = {
    "balanced": balanced,
    "shuffled": shuffled,
}


def draws(
    labels: Mapping[str, Labels], total: int, seed: int, sampling: str = "balanced"
) -> np.ndarray:
    """Return ``total`` training examples in drawing order: int64 (total, 2).

    The columns are the number of the head and that of the example.  Heads, numbered in
    sorted order, take turns of one example, in rounds with a new order each (MAUD's
    text; each update of its released multi-task script is of one head).  Each head has
    its own queue (one of `QUEUES`), which does not depend on the other heads.
    ``labels`` are those of each head's training examples.
    """
    queues = []
    for head, head_labels in sorted(labels.items()):
        generator = _generator(seed, "queue", head)
        queues.append(QUEUES[sampling](head_labels, generator))
    rounds = _generator(seed, "rounds")
    drawn = np.empty((total, 2), dtype=np.int64)
    at = 0
    while at < total:
        order = rounds.permutation(len(queues))
        for head in order[: total - at]:
            drawn[at] = head, next(queues[head])
            at += 1
    return drawn


class Trial(TypedDict):
    """Settings that a search tries.

    The model is evaluated after each of ``updates``; the last is the length of the
    training.
    """

    learning_rate: float
    updates: Sequence[int]


def trials(
    settings: TrainingSettings,
    heads: Iterable[str],
    choice: Mapping[str, Trial] | None = None,
) -> dict[str, Trial]:
    """Return the trial of each head, or of `JOINT` for a multi-task model.

    Heads missing from ``choice`` (no search could score them), or all without a choice,
    use the run's settings.  The settings may limit the updates of all trials.
    """
    default: Trial = {
        "learning_rate": settings.learning_rate,
        "updates": list(settings.updates),
    }
    names = [JOINT] if settings.setting == "multi" else sorted(heads)
    chosen = choice or {}
    by_name: dict[str, Trial] = {}
    for name in names:
        trial = chosen.get(name, default)
        updates = limited_updates(trial["updates"], settings.max_updates)
        by_name[name] = {**trial, "updates": updates}
    return by_name
