"""Predictions of classification and of answers as JSON lines, with the fields of ``extra_predictions``.

The correct answers are added, so that a file can be scored alone: the ``label`` of an example, an index into
the answers of its head (``labels`` for multi-label tasks), and the ``shares`` of people who chose each option
of a question.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import orjson

from lextables.pipeline.dataset import Row, parquet_file, read
from lextables.publish.export import Format, PublishedRun, PublishedSet
from lextables.tasks.answers import collection

FOLDER = "predictions"


def of_classification(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the predictions of each run, a file for each condition; return descriptions of the files."""
    labels = {
        row["example_id"]: {
            name: row[name] for name in ("label", "labels") if name in row
        }
        for row in read(data_set.table("examples"))
    }
    (folder / FOLDER).mkdir(parents=True)
    for run in data_set.runs:
        for condition, rows in groupby(
            read(run.predictions), lambda row: row.get("condition", "")
        ):
            name = (
                f"{run.name}.{condition.replace(' > ', '-to-')}"
                if condition
                else run.name
            )
            _write(folder / f"{FOLDER}/{name}.jsonl", _with_labels(rows, labels))
    views = (
        ", a file for each pair of training view and test view"
        if data_set.task.get("views")
        else ""
    )
    return [
        Format(
            f"{FOLDER}/<run>.jsonl",
            f"the predictions of each run for the test examples{views}: the probabilities of the head's "
            f"answers, in the order of the column `answers` of `{data_set.task['names']['heads']}`, and the "
            "index of the correct one.",
        )
    ]


def _with_labels(rows: Iterator[Row], labels: dict[str, Row]) -> Iterator[Row]:
    for row in rows:
        prediction = {
            name: row[name] for name in ("example_id", "head_id", "probabilities")
        }
        yield prediction | labels[row["example_id"]]


def of_answers(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the predictions of each run, answers or marked paragraphs; return descriptions of the files."""
    names = data_set.task["names"]
    tables = [
        data_set.table(name)
        for name in collection.files(names, *collection.ANSWERED_FROM)
    ]
    shares = collection.load(tables, names).shares
    (folder / FOLDER).mkdir(parents=True)
    for run in data_set.runs:
        rows = read(run.predictions)
        if not _marks(run):
            rows = (
                row | {"shares": shares[row["question_id"]].get(row["document_id"])}
                for row in rows
            )
        _write(folder / f"{FOLDER}/{run.name}.jsonl", rows)
    formats = [
        Format(
            f"{FOLDER}/<run>.jsonl",
            "each run's probabilities of the options of a question about a document, and the shares of "
            "people who chose them; null if nobody answered.",
        )
    ]
    if any(map(_marks, data_set.runs)):
        formats.append(
            Format(
                f"{FOLDER}/mark.*.jsonl",
                "each run's probability that a reader would mark a paragraph for a question.",
            )
        )
    return formats


def _marks(run: PublishedRun) -> bool:
    """Whether a run predicts marked paragraphs and not answers."""
    with parquet_file(run.predictions) as file:
        return "paragraph_id" in file.schema_arrow.names


def _write(path: Path, records: Iterator[Row]) -> None:
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    with path.open("wb") as file:
        file.writelines(orjson.dumps(record, option=option) for record in records)
