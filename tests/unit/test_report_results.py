"""What the report reads: parts, runs, and results of earlier runs."""

import json

import pytest
import yaml

from lextables.report import results
from lextables.tables.comparison import Pair, to_csv
from lextables.tables.render import duration
from site_results import RUN, write_results


@pytest.fixture
def folder(tmp_path):
    return write_results(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "said"), [(4.24, "4.2 s"), (59.97, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_durations_are_read_at_a_glance(seconds, said):
    assert duration(seconds) == said


def test_a_part_knows_its_tables_tasks_and_compared_rows(folder):
    pairs = [Pair("NDCG@5", "a", "b", 1.5, 0.5, 2.5, 0.01, 0.02, "57 queries", 3.0)]
    (folder / "tables/acord/table3.comparison.csv").write_text(to_csv(pairs))
    part = results.read_part("acord", folder / "acord.yaml", folder)
    table3, table_c1, figure2 = part.exhibits
    assert (table3.name, figure2.name, part.tasks) == ("table3", "figure2", {"acord": "retrieval"})
    assert table3.pairs == pairs
    assert list(table3.files) == ["csv", "md", "html", "comparison.csv"]
    assert not table_c1.pairs and list(figure2.files) == ["csv", "md", "html", "svg"]
    assert part.short == "ACORD"


def test_a_table_of_another_data_set_has_that_one_s_sources(folder):
    raw = yaml.safe_load((folder / "acord.yaml").read_text())
    raw["tables"]["table_c1"]["of"] = "acord_parts"
    (folder / "acord.yaml").write_text(yaml.safe_dump(raw))
    census = json.loads((folder / "data/acord/census.json").read_text())
    parts = [dict(source, variant="partial", comparable=False) for source in census["sources"]]
    (folder / "data/acord_parts").mkdir()
    (folder / "data/acord_parts/census.json").write_text(json.dumps(census | {"sources": parts}))
    part = results.read_part("acord", folder / "acord.yaml", folder)
    assert {exhibit.name: {source["variant"] for source in exhibit.sources} for exhibit in part.exhibits} == {
        "table3": {"release"}, "table_c1": {"partial"}, "figure2": {"release"}
    }  # fmt: skip
    (folder / "data/acord_parts/census.json").unlink()
    part = results.read_part("acord", folder / "acord.yaml", folder, earlier=True)
    assert "table_c1" not in [exhibit.name for exhibit in part.exhibits]


def test_a_run_says_where_it_lies_and_what_it_used(folder):
    run = results.read_run(folder / f"{RUN}/seed2/run.json")
    assert (run.folder, run.name) == (f"{RUN}/seed2", "read, bi+encoder, short, seed 2")
    assert run.weights == "all-minilm-l6-v2 (package)"
    path = folder / f"{RUN}/seed2/run.json"
    by = {"version": "0.1.0", "commit": "0123456789abcdef", "modified": True}
    path.write_text(json.dumps(json.loads(path.read_text()) | {"lextables": by}))
    assert results.read_run(path).versions["lextables"] == "0.1.0 (commit 0123456789, modified)"


def test_an_earlier_run_may_have_left_some_tables_or_none(folder):
    (folder / "tables/acord/table3.csv").unlink()
    (folder / "tables/acord/figure2.svg").unlink()
    part = results.read_part("acord", folder / "acord.yaml", folder, earlier=True)
    assert [exhibit.name for exhibit in part.exhibits] == ["table_c1"]
    (folder / "tables/acord/table_c1.csv").unlink()
    assert results.read_part("acord", folder / "acord.yaml", folder, earlier=True) is None


def test_left_over_is_what_was_not_made_and_changes_with_its_content(folder):
    left = results.left_over(folder, [str(folder / "tables/acord/table3.csv")])
    assert {path.split("/")[0] for path in left} == {"data", "tables", "runs"}
    assert "tables/acord/table3.csv" not in left
    assert len([path for path in left if path.startswith("runs/")]) == 3
    assert results.left_over(folder, [str(folder / "tables/acord/table3.csv")]) == left
    table = folder / "tables/acord/table_c1.csv"
    table.write_text(table.read_text().replace("query 7", "query seven"))
    changed = results.left_over(folder, [])
    assert {path for path in left if changed[path] != left[path]} == {"tables/acord/table_c1.csv"}
