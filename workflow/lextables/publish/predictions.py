"""Predictions of classification and of answers as JSON lines, in the fields that ``extra_predictions`` takes.

Beside them stands what is right, so that a file can be scored by itself: the ``label`` of an example, its
place among the head's answers (``labels`` where there may be several), and of a question the ``shares`` of
its options that people chose.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import orjson
import pyarrow.parquet as pq

from lextables.pipeline.dataset import Row, read
from lextables.publish.export import Form, PublishedRun, PublishedSet
from lextables.tasks.answers import collection

FOLDER = "predictions"


def of_classification(given: PublishedSet, folder: Path) -> list[Form]:
    """Write what each run makes of each example, a file for each condition of it; return what they are."""
    right = {
        row["example_id"]: {name: row[name] for name in ("label", "labels") if name in row}
        for row in read(given.table("examples"))
    }
    (folder / FOLDER).mkdir(parents=True)
    for run in given.runs:
        for condition, rows in groupby(read(run.predictions), lambda row: row.get("condition", "")):
            place = f"{run.name}.{condition.replace(' > ', '-to-')}" if condition else run.name
            _write(folder / f"{FOLDER}/{place}.jsonl", _answers(rows, right))
    views = ", a file for each view that it was trained under and read" if given.task.get("views") else ""
    return [
        Form(
            f"{FOLDER}/<run>.jsonl",
            f"what each run makes of each test example{views}: the probabilities of the head's answers, in "
            f"the order of the column `answers` of `{given.task['names']['heads']}`, and the place of the "
            "right one.",
        )
    ]


def _answers(rows: Iterator[Row], right: dict[str, Row]) -> Iterator[Row]:
    for row in rows:
        given = {name: row[name] for name in ("example_id", "head_id", "probabilities")}
        yield given | right[row["example_id"]]


def of_answers(given: PublishedSet, folder: Path) -> list[Form]:
    """Write what each run answers, or how it marks paragraphs; return what the files are."""
    names = given.task["names"]
    tables = [given.table(name) for name in collection.files(names, *collection.ANSWERED_FROM)]
    shares = collection.load(tables, names).shares
    (folder / FOLDER).mkdir(parents=True)
    for run in given.runs:
        rows = read(run.predictions)
        if not _marks(run):
            rows = (row | {"shares": shares[row["question_id"]].get(row["document_id"])} for row in rows)
        _write(folder / f"{FOLDER}/{run.name}.jsonl", rows)
    found = [
        Form(
            f"{FOLDER}/<run>.jsonl",
            "the distribution that each run gives over the options of a question about a document, and the "
            "shares that people chose; null where nobody answered.",
        )
    ]
    if any(map(_marks, given.runs)):
        found.append(
            Form(
                f"{FOLDER}/mark.*.jsonl",
                "how likely each run holds it that a reader would mark a paragraph for a question.",
            )
        )
    return found


def _marks(run: PublishedRun) -> bool:
    """Whether a run marks paragraphs, and gives no distribution over options."""
    return "paragraph_id" in pq.read_schema(run.predictions).names


def _write(path: Path, records: Iterator[Row]) -> None:
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    with path.open("wb") as file:
        file.writelines(orjson.dumps(record, option=option) for record in records)
