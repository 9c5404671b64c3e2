"""The plan of a paper: the runs of its tasks, and the rows of its tables."""

import re

import pytest

from helpers.invented_paper import OURS, PAPER, laid_out, written
from lextables import ROOT
from lextables.pipeline.errors import BadInput
from lextables.registry import packages
from lextables.tables.cells import Score, build
from lextables.tables.inputs import Inputs
from lextables.tables.published import PublishedCell
from lextables.tables.systems import score_cell


@pytest.fixture
def paper(tmp_path):
    return packages.load(written(tmp_path, PAPER))


def test_the_example_paper_in_the_documentation_has_the_documented_rows(tmp_path):
    text = (ROOT / "docs/adding-a-paper.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```yaml\n(.*?)^```", text, re.M | re.DOTALL)
    found = laid_out(packages.load(written(tmp_path, block, "leasesearch"))).rows[
        "table1"
    ]
    rows = [row["row"] for row in found]
    assert rows == ["BM25 / None", "MiniLM / None", "MiniLM / Cross-Encoder"]
    assert all(f"`{row}`" in text for row in rows)

    inputs = Inputs(
        tmp_path,
        tmp_path,
        [row | {"runs": {}, "reason": "not here"} for row in found],
        [],
        None,
    )
    cells = [
        score_cell(
            inputs, row, row["row"], "NDCG@10", Score("NDCG@10", row["row"], "NDCG@10")
        )
        for row in inputs.rows
    ]

    def lines(row):
        return build(
            [PublishedCell("table1", row, "NDCG@10", "0.5", 1, "Section 3")],
            cells,
            True,
        )

    assert lines("BM25 / None")[0].verdict == "not run"
    with pytest.raises(
        BadInput,
        match="computes no row 'BM25'; write one of its rows, such as 'BM25 / None', ",
    ):
        lines("BM25")


def test_a_plan_has_the_runs_of_all_tasks(paper):
    found = laid_out(paper)
    assert {(run.data_set, run.experiment) for run in found.specs} == {
        ("ledgar", "train"),
        ("ledgar", "read"),
        ("clauses", "retrieve"),
    }
    assert found.rows.keys() == paper.tables.keys()


def test_a_table_shows_the_rows_and_conditions_that_it_selects(paper):
    found = laid_out(paper)
    shown = {}
    for name, rows in found.rows.items():
        shown[name] = {row["row"]: sorted(row["runs"]) for row in rows}
    assert {name: rows for name, rows in shown.items() if rows} == {
        "table2": {"MiniLM": [], OURS: ["100"]},
        "table3": {"BM25 / None": ["short"]},
        "table4": {
            "BM25 / None": ["long", "short"],
            "MiniLM / None": ["long", "short"],
        },
        "table5": {"BM25 / None": ["long"]},
    }
    assert found.folders("table1") == []
    assert found.folders("table5") == ["runs/clauses/retrieve/bm25/long/seed0"]
    assert found.folders("table2") == [
        f"runs/ledgar/read/minilm/multi-sample/seed{n}" for n in range(3)
    ]


def test_user_models_are_added_to_the_tables_that_they_fit(paper, tmp_path):
    (tmp_path / "config.json").write_text("{}")
    extra = {"name": "Mine", "kind": "encoder", "model": str(tmp_path)}
    found = laid_out(paper, extra_models=[extra])
    assert [row["row"] for row in found.rows["table2"]] == ["MiniLM", OURS, "Mine"]
    assert [row["additional"] for row in found.rows["table2"]] == [False, True, True]
    assert [row["row"] for row in found.rows["table4"]] == [
        "BM25 / None",
        "MiniLM / None",
    ]


def test_a_table_of_a_data_set_without_a_task_has_no_rows(tmp_path):
    counts = {"title": "Counts", "where": "Section 1", "of": "others"}
    data = PAPER["data"] | {"others": {"files": {"release": "ledgar/LEDGAR.zip"}}}
    tables = {"table1": counts, "table2": counts | {"conditions": "all"}}
    path = written(tmp_path, PAPER | {"data": data, "tables": tables})
    assert laid_out(packages.load(path)).rows == {"table1": [], "table2": []}
