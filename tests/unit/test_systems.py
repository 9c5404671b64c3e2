"""Cells of scores: means over seeds, intervals, losses, strict scores, and missing
scores.
"""

from dataclasses import replace

import pytest

from lextables.metrics import HIGH, LOW, STRICT
from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.cells import Score
from lextables.tables.comparison import compare
from lextables.tables.inputs import Inputs
from lextables.tables.systems import score_cell, strict_cells

LOSSES = {"Worse": 0.6931, "Better": 0.25, "Middle": 0.5}


def system(name, folders, **changed):
    about = {
        "row": name,
        "reason": "",
        "trained": False,
        "averages": 1,
        "baseline": False,
        "lenient": False,
    }
    return about | {"runs": {"test": folders} if folders else {}} | changed


@pytest.fixture
def inputs(tmp_path):
    """Three systems with two runs each that have a loss and an F1; one system also has
    a strict F1.
    """
    rows = []
    for name, loss in LOSSES.items():
        folders = [f"runs/{name}{seed}" for seed in range(2)]
        for folder, change in zip(folders, (-0.1, 0.1), strict=True):
            values = {"loss": loss + change, "F1": 1 - loss + change}
            for end in (LOW, HIGH):
                values |= {
                    f"{metric}{end}": values[metric] for metric in ("loss", "F1")
                }
            if name == "Better":
                values["F1" + STRICT] = 0.5
            scores = [
                {"metric": m, "group": "all", "value": v, "n": 9}
                for m, v in sorted(values.items())
            ]
            (tmp_path / folder).mkdir(parents=True)
            write(SCORES, scores, tmp_path / folder / "scores.parquet")
        rows.append(system(name, folders))
    return Inputs(tmp_path, tmp_path, rows, [], None)


@pytest.mark.parametrize(
    ("metric", "options", "values"),
    [
        ("loss", {"lower": True}, LOSSES),
        (
            "F1",
            {"scale": 100},
            {name: 100 * (1 - loss) for name, loss in LOSSES.items()},
        ),
    ],
)
def test_scores_are_means_over_runs_and_compared_best_first(
    inputs, metric, options, values
):
    cells = []
    for row in inputs.rows:
        score = Score(metric, row["row"], metric, **options)
        cells.append(score_cell(inputs, row, row["row"], metric, score, decimals=1))
    found = {cell.row: (cell.value, cell.low, cell.high) for cell in cells}
    assert found == {
        name: (pytest.approx(value),) * 3 for name, value in values.items()
    }
    assert {(cell.decimals, cell.measure, cell.seeds) for cell in cells} == {
        (1, metric, None)
    }
    pairs = compare(cells, (), lambda folder: {(metric, "all"): {}})
    assert [(pair.one, pair.other) for pair in pairs] == [
        ("Better", "Middle"),
        ("Better", "Worse"),
        ("Middle", "Worse"),
    ]


def test_the_cell_of_a_trained_baseline_has_the_values_of_all_seeds(inputs):
    row = inputs.rows[1] | {"trained": True, "averages": 3, "baseline": True}
    cell = score_cell(
        inputs, row, "Better", "F1", Score("F1", "Better", "F1"), compared=False
    )
    assert cell.seeds == pytest.approx((0.65, 0.85))
    assert (cell.averages, cell.baseline, cell.score) == (3, "Better", None)
    score = Score("F1", "B", "F1")
    lenient = score_cell(inputs, row | {"lenient": True}, "B", "F1", score)
    assert (lenient.baseline, lenient.score) == ("", None)
    assert score_cell(inputs, row, "B", "F1", score).score == score


def test_a_strict_score_is_shown_only_if_it_is_stored_and_differs(inputs):
    for name, expected in (("Better", [("F1, strict", 50.0)]), ("Worse", [])):
        (row,) = (row for row in inputs.rows if row["row"] == name)
        score = Score("F1", name, "F1", scale=100)
        cell = score_cell(inputs, row, name, "F1", score)
        assert [
            (found.column, found.value) for found in strict_cells(inputs, cell, score)
        ] == expected
        assert not strict_cells(inputs, replace(cell, value=50.0), score)


@pytest.mark.parametrize(("scale", "value", "decimals"), [(100, 50, 1), (1, 0.5, 3)])
def test_a_strict_score_has_a_decimal_in_per_cent_and_three_as_a_share(
    inputs, scale, value, decimals
):
    (row,) = (row for row in inputs.rows if row["row"] == "Better")
    score = Score("F1", "Better", "F1", scale=scale)
    cell = score_cell(inputs, row, "Better", "F1", score)
    (strict,) = strict_cells(inputs, cell, score)
    assert (strict.value, strict.decimals) == (pytest.approx(value), decimals)


def test_a_missing_score_has_a_reason(inputs):
    score = Score("AUPR", "Better", "AUPR")
    cell = score_cell(
        inputs, inputs.rows[1], "Better", "AUPR", score, missing="nothing to score"
    )
    assert (cell.value, cell.reason, len(cell.runs)) == (None, "nothing to score", 2)
    assert (
        str(score_cell(inputs, inputs.rows[1], "Better", "AUPR", score).value) == "nan"
    )
    for reason, shown in (("no GPU", "no GPU"), ("", "not trained")):
        cell = score_cell(
            inputs,
            system("New", [], reason=reason),
            "New",
            "F1",
            score,
            no_runs="not trained",
        )
        assert (cell.value, cell.reason, cell.runs) == (None, shown, ())
