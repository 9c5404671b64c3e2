"""Submitted probabilities: JSON lines, or csv with a row for each answer or a row for
each example.
"""

from collections.abc import Sequence
from pathlib import Path

from lextables.metrics.classification import logits
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.classification.schema import PREDICTIONS, READINGS
from lextables.tasks.classification.scoring import SUBMITTED
from lextables.tasks.job import Job
from lextables.tasks.submitted import (
    Distribution,
    File,
    Forms,
    Probabilities,
    Records,
    Submitted,
    SubmittedRow,
    check_complete,
    identified,
    known,
    read_rows,
    store,
)


class ExampleRow(SubmittedRow):
    """The prediction for an example, or the probability of one of its answers."""

    example_id: str
    head_id: str | None = None
    probabilities: Probabilities


def run(job: Job) -> None:
    """Check and store a file of submitted predictions."""
    store(job, predictions, PREDICTIONS)


def predictions(
    file: File, form: str, data: Sequence[str | Path], task: JsonObject
) -> Submitted:
    """Return submitted probabilities as rows of `PREDICTIONS`; ``data`` are examples
    and heads.

    In a task with views they are rows of `READINGS` with the condition `SUBMITTED`.
    Logits are the log odds of the probabilities.  Examples of other splits, or of other
    heads than the task's ``heads`` (if it names any), are skipped.  Raises `BadInput`,
    naming the line, for an unknown example, head or answer, a repeated answer, an
    invalid probability, and probabilities that do not add up to one although the task
    has exclusive answers and is trained with cross-entropy; and for a test example
    without prediction.
    """
    examples, heads = data
    answers = {}
    for row in read(heads, ["head_id", "answers"]):
        answers[row["head_id"]] = row["answers"]
    tested_heads = task["heads"] or answers
    head_of = {}
    test = set()
    for row in read(examples, ["example_id", "split", "head_id"]):
        head_of[row["example_id"]] = row["head_id"]
        if row["split"] in task["test"] and row["head_id"] in tested_heads:
            test.add(row["example_id"])

    distributions: dict[str, Distribution] = {}
    skipped = set()
    for place, predicted in read_rows(FORMS[form](file), ExampleRow):
        example = identified(predicted.example_id, head_of, "example", place)
        head = head_of[example]
        head_id = predicted.head_id
        if head_id is not None and known(head_id, [head]) != head:
            what = (
                f"example {example!r} belongs to the head {head!r}, not to {head_id!r}"
            )
            raise BadInput(what, where=place, do="correct one of the two")
        if example not in test:
            skipped.add(example)
            continue
        new = Distribution("example", example, "answer", answers[head], place)
        distributions.setdefault(example, new).add(predicted.probabilities, place)
    check_complete(test, distributions, "test examples", file.name)

    exclusive = task["loss"] == "cross_entropy" and not task["multi_label"]
    rows: list[Row] = []
    for example, distribution in distributions.items():
        row = {
            "head_id": head_of[example],
            "example_id": example,
            "probabilities": distribution.complete(sum_to_one=exclusive),
        }
        rows.append({**row, "logits": logits(row).tolist()})
    rows.sort(key=lambda row: (row["head_id"], row["example_id"]))
    if not task["views"]:
        return Submitted(rows, len(skipped))
    readings: list[Row] = [{"condition": SUBMITTED, **row} for row in rows]
    return Submitted(readings, len(skipped), READINGS)


def _csv(file: File) -> Records:
    """A row for each answer (columns `answer` and `probability`), or for each example
    (a column an answer).

    In the second form, cells of answers of other heads are empty.
    """
    for place, row in file.table("example_id"):
        record = {
            "example_id": row.pop("example_id"),
            "head_id": row.pop("head_id", None),
        }
        if row.keys() >= {"answer", "probability"}:
            probabilities = {row["answer"]: row["probability"]}
        else:
            probabilities = {name: cell for name, cell in row.items() if cell.strip()}
        yield place, {**record, "probabilities": probabilities}


FORMS: Forms = {"csv": _csv, "jsonl": File.json_lines}
