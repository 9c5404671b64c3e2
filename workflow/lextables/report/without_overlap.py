"""Headline scores on test units that share little text with a training split, by the table's own code."""

from collections.abc import Collection, Container, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from lextables.corpora.overlaps import ALL
from lextables.metrics import containment, spans
from lextables.papers import modules, packages
from lextables.pipeline.dataset import Row, read, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES
from lextables.report.overlaps import read_texts
from lextables.tables import published, render
from lextables.tables.cells import Line, build
from lextables.tables.inputs import Inputs, rows_that_ran
from lextables.tasks.classification import scoring as classification
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval import scoring as retrieval
from lextables.tasks.spans.outputs import contract_of

LIMIT = 0.1  # units with this share of their words or more are excluded
TEST = ("test", ALL)


def scores_without(
    benchmark: Mapping[str, Any],
    units: pd.DataFrame,
    compared: Container[tuple[str, str]],
    root: Path,
) -> list[dict[str, Any]]:
    """Return the scores with an interval of a headline table, on all test units and on those without overlap.

    ``benchmark`` has the ``paper``, its ``registry`` and ``published`` files, the ``table``, the ``dataset``,
    its ``task`` and ``texts`` and the planned ``rows``.  ``compared`` are the (data set, split) pairs that
    were compared, and ``root`` is the folder of the results, whose runs are used as far as they exist.
    """
    dataset, texts, data = (
        benchmark["dataset"],
        benchmark["texts"],
        root / "data" / benchmark["dataset"],
    )
    other = texts["without"] or f"{dataset}/train"
    name, _, split = other.partition("/")
    rows = [_existing(row, root) for row in rows_that_ran(benchmark["rows"], root)]
    runs = sorted(
        {run for row in rows for folders in row["runs"].values() for run in folders}
    )
    if not runs or (name, split) not in compared:
        return []
    shared = units[
        (units.dataset == dataset)
        & (units.other_dataset == name)
        & (units.other_split == split)
    ]
    shared = shared[shared.split.isin(TEST) & (shared.shared >= LIMIT * shared.words)]
    tested = {
        unit: text
        for part, unit, text in read_texts(data, texts, once=False)
        if part in TEST
    }
    overlapping = {tested[unit] for unit in shared.unit}
    without = {unit for unit, text in tested.items() if text in overlapping}
    why, part = "no unit without overlap", {}
    if len(without) < len(tested):
        with TemporaryDirectory() as folder:
            try:
                for run in runs:
                    place = Path(folder) / run
                    place.mkdir(parents=True)
                    (place / "run.json").symlink_to((root / run / "run.json").resolve())
                    predictions = list(read(root / run / "predictions.parquet"))
                    scores = rescored(
                        benchmark["task"], data, predictions, texts["unit"], without
                    )
                    write(SCORES, scores, place / "scores.parquet")
                why, part = "not defined", _lines(benchmark, rows, data, Path(folder))
            except BadInput as error:
                why = error.what
    return [
        {
            "benchmark": f"{benchmark['paper']}, {render.label(benchmark['table'])}",
            "row": line.row,
            "score": line.column,
            "all test units": _value(line, why),
            f"below {LIMIT:.0%} of overlap": _value(part.get(place), why),
            "overlap with": other,
            "units": f"{len(tested) - len(without):,} of {len(tested):,}",
        }
        for place, line in _lines(benchmark, rows, data, root).items()
        if line.low
    ]


def _existing(row: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The row with the conditions whose runs were all made and scored."""
    files = ("run.json", "predictions.parquet", "scores.parquet")

    def exist(runs: Collection[str]) -> bool:
        return all((root / run / name).is_file() for run in runs for name in files)

    runs = {condition: runs for condition, runs in row["runs"].items() if exist(runs)}
    return {**row, "runs": runs, "reason": row["reason"] or "not run"}


def _lines(
    benchmark: Mapping[str, Any], rows: list[dict[str, Any]], data: Path, root: Path
) -> dict[tuple[str, str], Line]:
    """{(row, column): line} of the table; of one whose headline is a row, of that row."""
    name, paper = benchmark["table"], packages.load(benchmark["registry"])
    printed = [
        cell for cell in published.load(benchmark["published"]) if cell.table == name
    ]
    inputs = Inputs(
        data=data, root=root, rows=rows, published=printed, paper=paper, name=name
    )
    lines = build(
        printed,
        modules.module(benchmark["paper"], "tables").cells(name, inputs),
        comparable=False,
    )
    headline = paper.tables[name].headline.row
    return {
        (line.row, line.column): line
        for line in lines
        if line.row == (headline or line.row)
    }


def _value(line: Line | None, why: str) -> str:
    if line is None or line.ours in ("", "NaN"):
        return why
    return f"{line.ours} [{line.low}, {line.high}]" if line.low else line.ours


def rescored(
    task: Mapping[str, Any],
    data: Path,
    predictions: list[Row],
    unit: str,
    without: Collection[str],
) -> list[Row]:
    """Score predictions on the test units that are not in ``without``; rows of `run.SCORES`.

    ``task`` is the registry's task as plain values, and ``unit`` the column with the units in the tables of
    the folder ``data``.  In retrieval, judgements about these documents are left out, and queries that have
    no other relevant document.  Raises `BadInput` if this cannot be scored.
    """

    def kept(table: str) -> list[Row]:
        return [
            row
            for row in read(data / f"{table}.parquet")
            if row.get(unit) not in without
        ]

    def of(key: str, rows: list[Row]) -> list[Row]:
        names = {row[key] for row in rows}
        return [row for row in predictions if row[key] in names]

    if task["task"] == "spans":
        questions = [row for row in kept("questions") if row["split"] == "test"]
        predicted, answers = of("question_id", questions), kept("answers")
        if task["evaluator"] == "containment":
            golds = containment.gold_texts(answers)
            texts = ((row["question_id"], row["output"]) for row in predicted)
            counted = {
                name: containment.counts(text, golds.get(name, ()))
                for name, text in texts
            }
            return containment.scores(counted, contract_of(questions, "test"))[0]
        options = {name: task[name] for name in ("relaxed", "low_thresholds")}
        return spans.scores(spans.nbest_rows(predicted), questions, answers, **options)
    if task["task"] == "classification":
        examples, heads = kept("examples"), kept(task["names"]["heads"])
        predicted = of("example_id", examples)
        return classification.score(
            predicted, examples, heads, task["test"], task, data / "census.json"
        )[0]
    if task["task"] == "retrieval":
        full = collection.load(
            [data / f"{name}.parquet" for name in collection.files(task)], task
        )
        judged = {
            query: {
                document: gain
                for document, gain in gains.items()
                if document not in without
            }
            for query, gains in full.judged.items()
        }
        relevant = [query for query, gains in judged.items() if any(gains.values())]
        hits = (row for row in predictions if row["document_id"] not in without)
        return retrieval.scores(hits, replace(full, judged=judged), relevant)
    raise BadInput(f"the task {task['task']} cannot be scored on a part of the units")
