"""What holds for the tables of every paper of the registry."""

import math

import pytest

from helpers.table_contract import (
    TABLES,
    any_scores,
    computed_cells,
    planned_rows,
    published_cells,
    write_data,
)
from lextables.tables.cells import build
from lextables.tables.inputs import Inputs

AUPR, RETRIEVAL = {"AUPR"}, {"NDCG@5", "NDCG@10"}
RETRIEVAL |= {f"{stars}-star precision@5" for stars in (3, 4, 5)}
RECALLS = {f"Recall@{cutoff}" for cutoff in (1, 10, 100)}
# {table: the metrics by which its rows are compared}; those of other tables are not.
COMPARED = {
    **dict.fromkeys(
        [("acord", f"table_d{number}") for number in range(1, 6)], RETRIEVAL
    ),
    ("acord", "table3"): RETRIEVAL,
    ("acord", "figure2"): RETRIEVAL,
    ("contracteval", "table3"): {"F1", "F2", "Jaccard", "false rate"},
    # The precision at a recall is not compared: see `metrics.spans_by_contract`.
    ("cuad", "table2"): AUPR,
    ("cuad", "figure6"): AUPR,
    ("lawngnli", "table6"): RECALLS,
    ("lawngnli", "table17"): RECALLS,
    ("maud", "table3"): AUPR,
    ("maud", "table4"): AUPR,
    ("maud", "table7"): {"micro F1"},
    ("maud", "table8"): {"macro F1"},
    ("maud", "table12"): AUPR,
    ("maud", "figure2"): AUPR,
    ("privacy", "table2"): {
        "cross entropy",
        "cross entropy, unsmoothed",
        "excess",
        "log loss",
        "accuracy",
    },
    ("privacy", "table3"): {"accuracy", "recall", "F1", "precision"},
}
# Rows of these papers have another key for a model that was trained here.
TRAINED = {"acord": "tuned"}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    write_data(folder)
    return folder


@pytest.fixture(autouse=True)
def any_score(monkeypatch):
    monkeypatch.setattr(Inputs, "scores", any_scores)


@pytest.mark.parametrize("ran", [True, False])
@pytest.mark.parametrize(("paper", "table"), TABLES)
def test_every_published_cell_is_in_the_table(root, paper, table, ran):
    rows = planned_rows(paper, table, trained=False)
    if not ran:
        rows = [row | {"runs": {}, "reason": "not here"} for row in rows]
    printed = published_cells(paper, table)
    lines = build(printed, computed_cells(root, paper, table, rows), comparable=True)
    shown = [line for line in lines if line.published]
    assert [line.published for line in shown] == [cell.value for cell in printed]
    for line in lines:
        assert "NaN" not in (line.ours, line.reproduced, line.low, line.high)
        assert line.ours or line.reproduced or line.reason


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize(("paper", "table"), TABLES)
def test_every_published_score_of_trained_runs_has_the_values_of_its_seeds(
    root, paper, table, trained
):
    rows = planned_rows(paper, table, trained)
    trained_runs = set()
    for row in rows:
        if row[TRAINED.get(paper, "trained")]:
            trained_runs.update(*row["runs"].values())
        elif (paper, table) == ("cuad", "figure6"):
            # Only the point of all contracts can be that of released weights.
            shares = {
                share: runs for share, runs in row["runs"].items() if share != "100"
            }
            trained_runs.update(*shares.values())
    places = {(cell.row, cell.column) for cell in published_cells(paper, table)}
    for cell in computed_cells(root, paper, table, rows):
        is_score = isinstance(cell.value, float) and cell.judged and cell.runs
        if (cell.row, cell.column) not in places or not is_score:
            continue
        if not trained_runs.issuperset(cell.runs):
            assert cell.seeds is None or not cell.measure
            continue
        assert len(cell.seeds) == 3
        if cell.measure:
            assert math.isclose(sum(cell.seeds) / 3, cell.value)


@pytest.mark.parametrize(("paper", "table"), TABLES)
def test_rows_are_compared_only_by_these_scores(root, paper, table):
    cells = computed_cells(root, paper, table, planned_rows(paper, table, True))
    metrics = {cell.score.metric for cell in cells if cell.score}
    assert metrics == COMPARED.get((paper, table), set())
    # Single queries, questions and types of spans have too few units.
    groups = {cell.score.group.partition(":")[0] for cell in cells if cell.score}
    assert groups <= {"all", "category", "label", "with a text"}
