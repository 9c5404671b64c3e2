"""Scores and paired tests of submitted predictions, as DataFrames."""

import contextlib
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path

import pandas as pd

from lextables.metrics import HIGH, LOW, STRICT
from lextables.notebook.objects import Predictions, written
from lextables.notebook.project import Data, OtherDataWarning
from lextables.notebook.runs import ScoredRuns, scored_runs
from lextables.pipeline.errors import BadInput
from lextables.tables import comparison
from lextables.tasks.planner import SUBMITTED
from lextables.tasks.submitted import Incomplete

ROW = "submitted predictions"  # in messages
# Held while `scored_runs` changes the working folder of the process.
WORKING_FOLDER = threading.Lock()


def score(
    data_set: str,
    predictions: Predictions,
    format: str | None = None,
    data: Data = "release",
    folder: str | Path | None = None,
    partial: bool = False,
) -> pd.DataFrame:
    """Return the scores of predictions on the test part of a data set.

    ``data_set`` is a data set or a paper.  ``predictions`` are a file, a frame or a
    list of records with the columns of a file, or {question id: n-best spans}; a list
    of these has one for each seed.  ``format`` is the format of files, by
    default by their names (docs/predictions.md).  ``data`` and ``folder`` are those of
    `load`.  With ``partial`` only what all seeds predict is scored.  A row is a metric
    of a group (``all``, or a part of the test set):

    - ``mode``: ``paper``, as the released evaluator computes it, or ``strict``, as the
      paper's text defines it; a metric with one definition has ``paper`` only;
    - ``value``: the mean over seeds, as a share of one, and ``low`` to ``high``: its 95
      % sampling interval, NaN if there is none;
    - ``n``: the units of the value, such as gold spans; ``seeds``: the number of files.

    `attrs` of the frame has the ``data``, and whether they are ``comparable`` with the
    paper's; if not, there is a warning.  With ``partial`` it has the number of test
    items that were ``left_out``.  Raises `lextables.pipeline.errors.BadInput`,
    with the pipeline's sentence, for predictions that the pipeline does not accept, and
    as `load` does.
    """
    systems = {ROW: predictions}
    with _scored(data_set, systems, format, data, folder, partial) as runs:
        scores = _scores(runs)
        _describe_data(scores, runs, partial)
        return scores


def compare(
    name: str,
    systems: Mapping[str, Predictions],
    format: str | None = None,
    data: Data = "release",
    folder: str | Path | None = None,
    partial: bool = False,
) -> pd.DataFrame:
    """Return the paired tests of submitted predictions, as the paper's tables have
    them.

    ``systems`` are {name: its predictions}; these and the other arguments are those of
    `score`.  With ``partial`` only what all systems predict is compared.  A
    row is a pair of systems, the better one first, compared by a ``measure`` of a
    ``table``, in the table's unit (mostly per cent):

    - ``difference``, and ``low`` to ``high``: its paired 95 % interval;
    - ``p``: the p-value of the sign-flip test over ``units``, and ``adjusted``: after
      Holm's correction over the pairs of the measure;
    - ``differs``: whether ``adjusted`` is below 0.05;
    - ``detectable``: the smallest difference that is found with 80 % power;
    - ``untested``: why there is no test; empty if there is one.

    `attrs` and warnings are those of `score`.  Raises
    `lextables.pipeline.errors.BadInput` as `score` does, and for fewer than two
    systems.
    """
    if not isinstance(systems, Mapping) or len(systems) < 2:
        what = "a comparison needs the names and files of two systems or more"
        do = 'give them as {"A": "a.json", "B": "b.json"}'
        raise BadInput(what, where="lextables.compare", do=do)
    with _scored(name, systems, format, data, folder, partial) as runs:
        pairs = _pairs(runs)
        _describe_data(pairs, runs, partial)
        return pairs


@contextlib.contextmanager
def _scored(
    name: str,
    systems: Mapping[str, Predictions],
    format: str | None,
    data: Data,
    folder: str | Path | None,
    partial: bool,
) -> Iterator[ScoredRuns]:
    """Yield `scored_runs`, one call at a time; a message about missing predictions
    names ``partial`` too.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="lextables-") as objects:
            files = {}
            for number, (row, predictions) in enumerate(systems.items()):
                files[row] = written(predictions, Path(objects, str(number)))
            with (
                WORKING_FOLDER,
                scored_runs(name, files, format, data, folder, partial) as runs,
            ):
                yield runs
    except Incomplete as error:
        if partial:
            raise
        do = f"{error.do}, or use partial (partial=True, --partial)"
        raise BadInput(error.what, where=error.where, do=do) from None


def _scores(runs: ScoredRuns) -> pd.DataFrame:
    """Return the scores of one row's runs, as `score` describes them."""
    folders = runs.folders
    # A row of a plan, of which all files are runs under one condition.
    inputs = runs.inputs([{"runs": {"all": folders}}])
    # Some scores have an interval only in a cell of a table.
    of_tables = _intervals(runs)
    rows = []
    for (metric, group), (_, n) in inputs.scores[folders[0]].items():
        if metric.endswith((LOW, HIGH)):
            continue
        low, high = inputs.interval(folders, metric, group, scale=1)
        if low is None:
            low, high = of_tables.get((metric, group), (None, None))
        row = {
            "data_set": runs.data_set_name,
            "metric": metric.removesuffix(STRICT),
            "mode": "strict" if metric.endswith(STRICT) else "paper",
            # In a task with views a group begins with its view, here "submitted".
            "group": group.removeprefix(f"{SUBMITTED}, "),
            "value": inputs.mean(folders, metric, group, scale=1),
            "low": low,
            "high": high,
            "n": n,
            "seeds": len(folders),
        }
        rows.append(row)
    frame = pd.DataFrame(rows)
    numbers = ["value", "low", "high"]
    return frame.astype(dict.fromkeys(numbers, float))


def _intervals(runs: ScoredRuns) -> dict[tuple[str, str], tuple[float, float]]:
    """Return {metric and group: the ends of its interval} that tables compute, as
    shares of one.
    """
    intervals = {}
    for table in runs.tables:
        for cell in runs.cells(table):
            score = cell.score
            if score and cell.low is not None and cell.high is not None:
                ends = (cell.low / score.scale, cell.high / score.scale)
                intervals[score.metric, score.group] = ends
    return intervals


def _pairs(runs: ScoredRuns) -> pd.DataFrame:
    """Return the pairs of all tables, as `compare` describes them."""
    rows = []
    for table in runs.tables:
        units_of = runs.inputs(runs.rows(table), table).units
        for pair in comparison.compare(runs.cells(table), (), units_of):
            rows.append({"table": table, **asdict(pair), "differs": pair.differs})
    names = [field.name for field in fields(comparison.Pair)]
    return pd.DataFrame(rows, columns=["table", *names, "differs"])


def _describe_data(frame: pd.DataFrame, runs: ScoredRuns, partial: bool) -> None:
    """Store the data, and with ``partial`` what was left out, in `attrs` of a frame;
    warn if the data are not comparable with the paper's.

    `data_set` has already warned of the sample.
    """
    data = runs.project.config.data
    frame.attrs["data"] = data
    frame.attrs["comparable"] = not runs.data_note
    if partial:
        frame.attrs["left_out"] = runs.left_out
    if runs.data_note and data != "sample":
        text = f"{runs.data_set_name}: {runs.data_note}"
        # At the caller of `score` or `compare`.
        warnings.warn(text, OtherDataWarning, stacklevel=3)
