"""Cells of a row of scores, of which a lower one may be the better."""

import pytest

from lextables.pipeline.dataset import write
from lextables.pipeline.run import SCORES
from lextables.tables.comparison import compare
from lextables.tables.inputs import Inputs
from lextables.tables.scored import score_cells

LOSSES = {"Worse": 0.6931, "Better": 0.25, "Middle": 0.5}


@pytest.fixture
def inputs(tmp_path):
    """Three systems with a loss and an F1, both with an interval."""
    rows = []
    for name, loss in LOSSES.items():
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        values = {"loss": loss, "micro F1": 1 - loss}
        values |= {f"{metric}, {end}": value for metric, value in values.items() for end in ("low", "high")}
        scores = [{"metric": m, "group": "all", "value": v, "n": 9} for m, v in sorted(values.items())]
        write(SCORES, scores, folder / "scores.parquet")
        rows.append(
            {
                "row": name, "reason": "", "trained": False, "averages": 1, "baseline": False,
                "runs": {"test": [f"runs/{name}"]},
            }
        )  # fmt: skip
    return Inputs(tmp_path, tmp_path, rows, [], None)


def cells_of(inputs, metric, **options):
    return [cell for row in inputs.rows for cell in score_cells(inputs, row, {metric: metric}, **options)]


def test_a_loss_is_shown_as_it_is_and_the_lowest_is_the_best(inputs):
    cells = cells_of(inputs, "loss", lower=True)
    assert {cell.row: (cell.value, cell.low, cell.high, cell.decimals) for cell in cells} == {
        name: (loss, loss, loss, 3) for name, loss in LOSSES.items()
    }
    assert all(cell.score.lower and cell.score.scale == 1 for cell in cells)
    ranked = compare(cells, (), lambda folder: {("loss", "all"): {}})
    assert [(pair.one, pair.other) for pair in ranked] == [
        ("Better", "Middle"), ("Better", "Worse"), ("Middle", "Worse"),
    ]  # fmt: skip


def test_a_score_is_shown_in_per_cent_and_the_highest_is_the_best(inputs):
    cells = cells_of(inputs, "micro F1")
    assert {cell.row: (cell.value, cell.decimals) for cell in cells} == {
        name: (pytest.approx(100 * (1 - loss)), 1) for name, loss in LOSSES.items()
    }
    ranked = compare(cells, (), lambda folder: {("micro F1", "all"): {}})
    assert (ranked[0].one, ranked[0].other) == ("Better", "Middle")
    assert not any(cell.score.lower for cell in cells)


def test_an_error_rate_may_be_in_per_cent(inputs):
    (cell, *_) = cells_of(inputs, "loss", lower=True, scale=100, decimals=1)
    assert (cell.value, cell.decimals, cell.score.lower) == (pytest.approx(69.31), 1, True)
