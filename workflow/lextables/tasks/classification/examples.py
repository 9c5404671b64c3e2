"""Examples: the text or pair of texts of each one, its head and its right answers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput

Key = tuple[str, str]  # the ids of a text and of the second text of its pair (empty for a single text)
# The text that a model reads: the columns with the ids of the text and, for pairs, the second text.
View: TypeAlias = Mapping[str, str | None]
PLAIN: View = {"text": "text_id", "pair": "pair_id"}


def key_of(row: Row, view: View = PLAIN) -> Key:
    """Return the ids of the text and, for a pair, the second text of an example under a view."""
    second = view["pair"] and row.get(view["pair"])
    return row[view["text"]], second or ""


def shown(rows: Iterable[Row], view: View | None) -> Iterator[Row]:
    """Yield the examples with the ``text_id`` and ``pair_id`` of a view; unchanged if it is None."""
    for row in rows:
        yield row | dict(zip(("text_id", "pair_id"), key_of(row, view), strict=True)) if view else row


def labels_of(row: Row) -> tuple[int, ...]:
    """Return the indices of the right answers of an example: ``labels``, or one ``label``."""
    return tuple(row["labels"]) if "labels" in row else (row["label"],)


def of_splits(rows: Iterable[Row], splits: Sequence[str]) -> Iterator[Row]:
    """Yield the examples of these splits."""
    return (row for row in rows if row["split"] in splits)


def learnt_from(rows: Iterable[Row], splits: Sequence[str], where: str | None) -> Iterator[Row]:
    """Yield the training examples: those of these splits where the column ``where`` is true, if given."""
    return (row for row in of_splits(rows, splits) if where is None or row[where])


def by_head(rows: Iterable[Row], heads: Iterable[str], *, labelled: bool = False) -> dict[str, list[Row]]:
    """Return {head: its examples, sorted}: example_id, text_id, pair_id and, if ``labelled``, labels."""
    found: dict[str, list[Row]] = {head: [] for head in heads}
    for row in rows:
        if row["head_id"] in found:
            text_id, pair_id = key_of(row)
            kept = {"example_id": row["example_id"], "text_id": text_id, "pair_id": pair_id}
            found[row["head_id"]].append(kept | ({"labels": labels_of(row)} if labelled else {}))
    return {head: sorted(rows, key=lambda row: row["example_id"]) for head, rows in found.items()}


def check_labels(rows: Iterable[Row], answers: Mapping[str, int], multi_label: bool) -> None:
    """Raise `BadInput` for labels that do not fit ``answers``, {head: number of answers}."""
    for row in rows:
        labels, head, where = labels_of(row), row["head_id"], f"example {row['example_id']}"
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
                raise BadInput(f"label {label} where head {head!r} has {answers[head]} answers", where=where)
