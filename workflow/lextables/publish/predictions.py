"""Predictions of classification and of answers as JSON lines, with the fields of
``extra_predictions``.

The correct answers are added, so that a file can be scored alone: the ``label`` of an
example, an index into the answers of its head (``labels`` for multi-label tasks), and
the ``shares`` of people who chose each option of a question.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path

import orjson

from lextables.pipeline.dataset import Row, parquet_file, read
from lextables.publish.export import Format, PublishedRun, PublishedSet
from lextables.tasks.answers import collection

FOLDER = "predictions"
Shares = Mapping[str, Mapping[str, object]]  # of people, by question and document
PREDICTED = ("example_id", "head_id", "probabilities")


def of_classification(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the predictions of each run, a file for each condition; return descriptions
    of the files.
    """
    labels: dict[str, Row] = {}
    for row in read(data_set.table("examples")):
        labels[row["example_id"]] = {
            name: row[name] for name in ("label", "labels") if name in row
        }
    (folder / FOLDER).mkdir(parents=True)
    for run in data_set.runs:
        rows = read(run.predictions)
        for condition, group in groupby(rows, lambda row: row.get("condition", "")):
            name = run.name
            if condition:
                name += f".{condition.replace(' > ', '-to-')}"
            _write(folder / f"{FOLDER}/{name}.jsonl", _with_labels(group, labels))
    views = ""
    if data_set.task.get("views"):
        views = ", a file for each pair of training view and test view"
    description = (
        f"the predictions of each run for the test examples{views}: the probabilities of the head's "
        f"answers, in the order of the column `answers` of `{data_set.task['names']['heads']}`, and the "
        "index of the correct one."
    )
    return [Format(f"{FOLDER}/<run>.jsonl", description)]


def _with_labels(rows: Iterable[Row], labels: Mapping[str, Row]) -> Iterator[Row]:
    """Yield the predictions with the correct labels of their examples."""
    for row in rows:
        prediction = {name: row[name] for name in PREDICTED}
        yield {**prediction, **labels[row["example_id"]]}


def of_answers(data_set: PublishedSet, folder: Path) -> list[Format]:
    """Write the predictions of each run, answers or marked paragraphs; return
    descriptions of the files.
    """
    names = data_set.task["names"]
    tables = collection.files(names, *collection.ANSWERED_FROM)
    shares = collection.load([data_set.table(name) for name in tables], names).shares
    (folder / FOLDER).mkdir(parents=True)
    marks = False
    for run in data_set.runs:
        rows: Iterator[Row] = read(run.predictions)
        if _marks(run):
            marks = True
        else:
            rows = _with_shares(rows, shares)
        _write(folder / f"{FOLDER}/{run.name}.jsonl", rows)
    description = (
        "each run's probabilities of the options of a question about a document, and the shares of "
        "people who chose them; null if nobody answered."
    )
    formats = [Format(f"{FOLDER}/<run>.jsonl", description)]
    if marks:
        description = "each run's probability that a reader would mark a paragraph for a question."
        formats.append(Format(f"{FOLDER}/mark.*.jsonl", description))
    return formats


def _with_shares(rows: Iterable[Row], shares: Shares) -> Iterator[Row]:
    """Yield the predictions with the shares of people, by question and document."""
    for row in rows:
        chosen = shares[row["question_id"]].get(row["document_id"])
        yield {**row, "shares": chosen}


def _marks(run: PublishedRun) -> bool:
    """Whether a run predicts marked paragraphs and not answers."""
    with parquet_file(run.predictions) as file:
        return "paragraph_id" in file.schema_arrow.names


def _write(path: Path, records: Iterable[Row]) -> None:
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY
    with path.open("wb") as file:
        file.writelines(orjson.dumps(record, option=option) for record in records)
