"""Submitted probabilities: JSON lines, or csv with a row for each answer or a row for each example."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lextables.metrics.classification import logits
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.schema import PREDICTIONS
from lextables.tasks.submitted import (
    PROBABILITY,
    Distributions,
    File,
    Submitted,
    known,
    named,
    probabilities_of,
)

__all__ = ["PREDICTIONS", "predictions"]
EXAMPLE, HEAD, ANSWER = "example_id", "head_id", "answer"


class Line(NamedTuple):
    """One line of a file; ``probabilities`` are by answer, or in the order of the head's answers."""

    place: str
    example: str
    head: str | None
    probabilities: Mapping[str, Any] | list[Any]


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: Mapping[str, Any]
) -> Submitted:
    """Return submitted probabilities as rows of `PREDICTIONS`; ``data`` are examples and heads.

    Logits are the log odds of the probabilities.  Examples of other splits, or of other heads than the task's
    ``heads`` (if it names any), are skipped.  Raises `BadInput`, naming the line, for an unknown example,
    head or answer, a repeated answer, an invalid probability, and probabilities that do not add up to one
    although the task has exclusive answers and is trained with cross-entropy; and for a test example without
    prediction.
    """
    examples, heads = data
    answers = {
        row["head_id"]: row["answers"] for row in read(heads, ["head_id", "answers"])
    }
    example_of = {
        row["example_id"]: row
        for row in read(examples, ["example_id", "split", "head_id"])
    }
    scored_heads = task["heads"] or answers
    test_ids = {
        name
        for name, row in example_of.items()
        if row["split"] in task["test"] and row["head_id"] in scored_heads
    }
    shares, skipped = Distributions("example", "answer"), set()
    for line in FORMS[form](file):
        line = line._replace(example=known(line.example, example_of))
        if line.example not in example_of:
            what = f"the data set has no example {line.example!r}"
            raise BadInput(what, where=line.place, do="correct its id")
        head = example_of[line.example]["head_id"]
        if line.head is not None and known(line.head, [head]) != head:
            what = f"example {line.example!r} belongs to the head {head!r}, not to {line.head!r}"
            raise BadInput(what, where=line.place, do="correct one of the two")
        if line.example in test_ids:
            shares.add(line.example, answers[head], line.probabilities, line.place)
        else:
            skipped.add(line.example)
    if missing := sorted(test_ids - shares.values.keys()):
        raise BadInput(
            f"no prediction for {len(missing)} of the {len(test_ids)} test examples, the first "
            f"{missing[0]!r}",
            where=file.name,
            do="predict each of them",
        )
    exclusive = task["loss"] == "cross_entropy" and not task["multi_label"]
    rows = []
    for example in shares.values:
        head = example_of[example]["head_id"]
        values = shares.of(example, answers[head], sum_to_one=exclusive)
        row = {"head_id": head, "example_id": example, "probabilities": values}
        rows.append(row | {"logits": logits(row).tolist()})
    rows.sort(key=lambda row: (row["head_id"], row["example_id"]))
    return Submitted(rows, len(skipped))


def _csv(file: File) -> Iterator[Line]:
    """A row for each answer (columns `ANSWER` and `PROBABILITY`), or for each example (a column an answer).

    In the second form, cells of answers of other heads are empty.
    """
    for place, row in file.table(EXAMPLE):
        example, head = row.pop(EXAMPLE), row.pop(HEAD, None)
        if row.keys() >= {ANSWER, PROBABILITY}:
            yield Line(place, example, head, {row[ANSWER]: row[PROBABILITY]})
        else:
            yield Line(
                place,
                example,
                head,
                {name: cell for name, cell in row.items() if cell.strip()},
            )


def _jsonl(file: File) -> Iterator[Line]:
    for place, record in file.records():
        values = probabilities_of(record, place, ANSWER)
        head = named(record, HEAD, place) if HEAD in record else None
        yield Line(place, named(record, EXAMPLE, place), head, values)


FORMS = {"csv": _csv, "jsonl": _jsonl}
