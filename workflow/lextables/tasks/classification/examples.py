"""What an example says: the text, or pair of texts, that it asks about, and which answers are right."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lextables.dataset import Row
from lextables.errors import BadInput

Key = tuple[str, str]  # the ids of a text and of the second text of its pair, empty where it stands alone


def key_of(row: Row) -> Key:
    """Return what an example asks about, by its ``text_id`` and, where it has one, its ``pair_id``."""
    return row["text_id"], row.get("pair_id") or ""


def labels_of(row: Row) -> tuple[int, ...]:
    """Return the places of its right answers among the head's: ``labels``, or one ``label``."""
    return tuple(row["labels"]) if "labels" in row else (row["label"],)


def of_splits(rows: Iterable[Row], splits: Sequence[str]) -> Iterator[Row]:
    """Yield the examples of these splits."""
    return (row for row in rows if row["split"] in splits)


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
    """Raise `BadInput` for labels that do not fit ``answers``, {head: how many it has}."""
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
