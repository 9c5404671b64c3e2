"""Headline scores on the test units that share little text with a training split,
computed by the same code as the tables.
"""

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from lextables.corpora.overlaps import ALL
from lextables.metrics import containment, containment_scores, spans
from lextables.pipeline.dataset import Row, read, write
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import SCORES
from lextables.registry import modules, packages
from lextables.report.overlaps import read_texts
from lextables.tables import published, render
from lextables.tables.cells import Line, Place, build
from lextables.tables.inputs import Inputs, rows_that_ran
from lextables.tasks.classification import scoring as classification
from lextables.tasks.retrieval import collection
from lextables.tasks.retrieval import scoring as retrieval
from lextables.tasks.spans.outputs import contract_of

LIMIT = 0.1  # units with this share of their words or more are excluded
TEST = ("test", ALL)  # ALL: a data set without splits has only test units

SCORED = ("run.json", "predictions.parquet", "scores.parquet")  # of a run

PlannedRow = Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """A table with a headline: its paper, files, data set, and planned ``rows``
    (`planner.Plan.rows`).

    ``registry`` and ``published`` are the paper's files, ``task`` is the task of the
    data set and ``texts`` says where its texts are (`registry.paper.Texts`), both as
    plain values.
    """

    paper: str
    registry: str
    published: str
    table: str
    dataset: str
    task: Mapping[str, Any]
    texts: Mapping[str, Any]
    rows: Sequence[PlannedRow]

    @property
    def name(self) -> str:
        """The paper and the table."""
        return f"{self.paper}, {render.label(self.table)}"

    @property
    def other(self) -> str:
        """The split whose texts are left out, such as `cuad/train`."""
        return self.texts["without"] or f"{self.dataset}/train"


@dataclass(frozen=True)
class Units:
    """The ids of the test units of a data set: all, and those that are left out because
    of their overlap.
    """

    tested: Collection[str]
    left_out: Collection[str]

    @property
    def counts(self) -> str:
        """The numbers of remaining units and of all units, as text."""
        return f"{len(self.tested) - len(self.left_out):,} of {len(self.tested):,}"


def scores_without(
    benchmark: Benchmark,
    units: pd.DataFrame,
    compared: Container[tuple[str, str]],
    root: Path,
) -> list[dict[str, str]]:
    """Return the scores of a headline table on all test units and on the units without
    overlap; only scores with an interval.

    ``units`` are the shared units of all pairs of splits, and ``compared`` the (data
    set, split) pairs that were compared.  ``root`` is the folder of the results, whose
    runs are used as far as they exist.
    """
    rows = [_existing(row, root) for row in rows_that_ran(benchmark.rows, root)]
    runs: set[str] = set()
    for row in rows:
        for folders in row["runs"].values():
            runs.update(folders)
    name, _, split = benchmark.other.partition("/")
    if not runs or (name, split) not in compared:
        return []
    chosen = _units(benchmark, units, root)
    missing = "no unit without overlap"  # the text in place of a score
    without = {}
    if len(chosen.left_out) < len(chosen.tested):
        try:
            without = _lines_without(benchmark, rows, sorted(runs), chosen, root)
            missing = "not defined"
        except BadInput as error:
            missing = error.what
    scores = []
    for place, line in _lines(benchmark, rows, root, root).items():
        if line.low:
            score = {
                "benchmark": benchmark.name,
                "row": line.row,
                "score": line.column,
                "all test units": _value(line, missing),
                f"below {LIMIT:.0%} of overlap": _value(without.get(place), missing),
                "overlap with": benchmark.other,
                "units": chosen.counts,
            }
            scores.append(score)
    return scores


def _existing(row: PlannedRow, root: Path) -> dict[str, Any]:
    """The row with the conditions whose runs were all made and scored."""
    runs = {}
    for condition, folders in row["runs"].items():
        if all(_is_scored(root / folder) for folder in folders):
            runs[condition] = folders
    return {**row, "runs": runs, "reason": row["reason"] or "not run"}


def _is_scored(folder: Path) -> bool:
    return all((folder / name).is_file() for name in SCORED)


def _units(benchmark: Benchmark, units: pd.DataFrame, root: Path) -> Units:
    """The test units, and the units whose text has at least `LIMIT` of its words in the
    other split.

    The table of overlaps has each text of a split once; here all units with the same
    text are left out.
    """
    name, _, split = benchmark.other.partition("/")
    is_of_pair = units.dataset == benchmark.dataset
    is_of_pair &= (units.other_dataset == name) & (units.other_split == split)
    shared = units[is_of_pair & units.split.isin(TEST)]
    is_overlapping = shared.shared >= LIMIT * shared.words
    data = root / "data" / benchmark.dataset
    texts = {}
    for part, unit, text in read_texts(data, benchmark.texts, once=False):
        if part in TEST:
            texts[unit] = text
    overlapping = {texts[unit] for unit in shared.unit[is_overlapping]}
    left_out = {unit for unit, text in texts.items() if text in overlapping}
    return Units(texts.keys(), left_out)


def _lines_without(
    benchmark: Benchmark,
    rows: Sequence[PlannedRow],
    runs: Sequence[str],
    units: Units,
    root: Path,
) -> dict[Place, Line]:
    """The lines of the table with the runs' scores on the remaining units.

    The scores are written to a temporary folder with the layout of the results.
    """
    data = root / "data" / benchmark.dataset
    unit = benchmark.texts["unit"]
    with TemporaryDirectory() as folder:
        for run in runs:
            place = Path(folder) / run
            place.mkdir(parents=True)
            (place / "run.json").symlink_to((root / run / "run.json").resolve())
            predictions = list(read(root / run / "predictions.parquet"))
            partial = PartialRun(data, predictions, unit, units.left_out)
            write(SCORES, partial.scores(benchmark.task), place / "scores.parquet")
        return _lines(benchmark, rows, root, Path(folder))


def _lines(
    benchmark: Benchmark, rows: Sequence[PlannedRow], root: Path, scores: Path
) -> dict[Place, Line]:
    """The lines of the table by their places; if the table's headline is a row, only
    the lines of that row.

    ``scores`` is the folder that the runs' folders lie in.
    """
    paper = packages.load(benchmark.registry)
    cells = published.load(benchmark.published)
    inputs = Inputs(
        data=root / "data" / benchmark.dataset,
        root=scores,
        rows=rows,
        published=[cell for cell in cells if cell.table == benchmark.table],
        paper=paper,
        name=benchmark.table,
    )
    tables = modules.module(benchmark.paper, "tables")
    computed = tables.cells(benchmark.table, inputs)
    headline = inputs.entry.headline.row if inputs.entry.headline else None
    lines = {}
    for line in build(inputs.published, computed, comparable=False):
        if not headline or line.row == headline:
            lines[line.row, line.column] = line
    return lines


def _value(line: Line | None, missing: str) -> str:
    if line is None or line.ours in ("", "NaN"):
        return missing
    if not line.low:
        return line.ours
    return f"{line.ours} [{line.low}, {line.high}]"


@dataclass(frozen=True)
class PartialRun:
    """Predictions to score on the test units that are not ``left_out``.

    ``unit`` is the column with the units in the tables of the folder ``data``.
    """

    data: Path
    predictions: Sequence[Row]
    unit: str
    left_out: Collection[str]

    def scores(self, task: Mapping[str, Any]) -> list[Row]:
        """Return rows of `run.SCORES`; ``task`` is the registry's task as plain values.

        Raises `BadInput` if the task cannot be scored on a part of the units.
        """
        kind = task["task"]
        if kind not in SCORERS:
            raise BadInput(f"the task {kind} cannot be scored on a part of the units")
        return SCORERS[kind](self, task)

    def rows(self, table: str) -> list[Row]:
        """The rows of a table that are about the remaining units."""
        rows = read(self.data / f"{table}.parquet")
        return [row for row in rows if row.get(self.unit) not in self.left_out]

    def predictions_of(self, key: str, rows: Sequence[Row]) -> list[Row]:
        """The predictions for ``rows``, by the column ``key``."""
        names = {row[key] for row in rows}
        return [row for row in self.predictions if row[key] in names]


def _span_scores(run: PartialRun, task: Mapping[str, Any]) -> list[Row]:
    """The scores of spans or text outputs on the questions about the remaining
    contracts.
    """
    questions = [row for row in run.rows("questions") if row["split"] == "test"]
    predicted = run.predictions_of("question_id", questions)
    answers = run.rows("answers")
    if task["evaluator"] == "containment":
        golds = containment.gold_texts(answers)
        contracts = contract_of(questions, "test")
        scores, _ = containment_scores.scores(predicted, golds, contracts)
        return scores
    return spans.scores(
        spans.nbest_rows(predicted),
        questions,
        answers,
        relaxed=task["relaxed"],
        low_thresholds=task["low_thresholds"],
    )


def _classification_scores(run: PartialRun, task: Mapping[str, Any]) -> list[Row]:
    """The scores of a classifier on the examples of the remaining units."""
    examples = run.rows("examples")
    heads = run.rows(task["names"]["heads"])
    predicted = run.predictions_of("example_id", examples)
    names = classification.ScoreSettings.model_fields
    settings = classification.ScoreSettings(**{name: task[name] for name in names})
    scores, *_ = classification.score(
        predicted, examples, heads, task["test"], settings, run.data / "census.json"
    )
    return scores


def _retrieval_scores(run: PartialRun, task: Mapping[str, Any]) -> list[Row]:
    """The scores of rankings of the remaining documents.

    Hits and judgements of the other documents are left out, and so are queries without
    a remaining relevant document.
    """
    names = collection.files(task)
    full = collection.load([run.data / f"{name}.parquet" for name in names], task)
    judged: dict[str, dict[str, int]] = {}
    relevant = []
    for query, gains in full.judged.items():
        remaining_gains = {}
        for document, gain in gains.items():
            if document not in run.left_out:
                remaining_gains[document] = gain
        judged[query] = remaining_gains
        if any(remaining_gains.values()):
            relevant.append(query)
    hits = []
    for row in run.predictions:
        if row["document_id"] not in run.left_out:
            hits.append(row)
    return retrieval.scores(iter(hits), replace(full, judged=judged), relevant)


SCORERS: Mapping[str, Callable[[PartialRun, Mapping[str, Any]], list[Row]]] = {
    "spans": _span_scores,
    "classification": _classification_scores,
    "retrieval": _retrieval_scores,
}
