"""The report of a rehearsal has every published row, and says which ran."""

import csv
import json

import pytest

from lextables import ROOT
from lextables.report import costs, rehearsal
from lextables.tables import published
from lextables.tables.cells import Line, to_csv

PAPERS = sorted(path.stem for path in (ROOT / "resources/published").glob("*.csv"))
ROWS = {
    # row: its lines (column, value, verdict, run, reason), the status, values and
    # reason
    "both": ([("A", "0.5", "", "r", ""), ("B", "0.1", "", "r", "")], "ran", 2, ""),
    "text": ([("A", "[1, 2]", "", "", "")], "ran", 1, ""),
    "one": (
        [("A", "0.5", "", "r", ""), ("B", "NaN", "", "r", "no unit")],
        "ran in part",
        1,
        "no unit",
    ),
    "infinite": ([("A", "inf", "", "r", "")], "could not run", 0, ""),
    "none": (
        [("A", "", "not run", "", "no prompt"), ("B", "", "not run", "", "no prompt")],
        "could not run",
        0,
        "no prompt",
    ),
    # The size of a model says nothing about its scores.
    "size": (
        [("A", "", "not run", "", "no prompt"), ("Size", "66M", "", "", "a size")],
        "could not run",
        1,
        "no prompt",
    ),
}


@pytest.fixture
def table(tmp_path):
    lines, cells = [], []
    for row, (columns, *_) in ROWS.items():
        for column, value, verdict, run, reason in columns:
            about = {"verdict": verdict, "runs": run, "reason": reason}
            lines.append(Line(row, column, published="1", ours=value, **about))
            cells.append(published.PublishedCell("table1", row, column, "1", 0, "T1"))
    cells.append(published.PublishedCell("table2", "other", "A", "1", 0, "T2"))
    path = tmp_path / "table1.csv"
    path.write_text(to_csv(lines), encoding="utf-8")
    return cells, {"table1": path}


def test_a_row_ran_if_each_of_its_cells_has_a_finite_value(table):
    rows = rehearsal.rehearsed_rows("paper", *table)
    assert [row.row for row in rows] == [*ROWS, "other"]
    for row in rows[:-1]:
        lines, *expected = ROWS[row.row]
        assert [row.status, row.values, row.reason] == expected, row.row
        assert row.cells == len(lines)
    assert rows[-1].status == "could not run"
    assert rows[-1].reason == rehearsal.NO_TABLE


def test_the_report_is_read_as_it_is_written_and_counts_each_paper(table, tmp_path):
    rows = rehearsal.rehearsed_rows("paper", *table)
    path = tmp_path / "rehearsal.csv"
    path.write_text(rehearsal.to_csv(rows), encoding="utf-8")
    assert rehearsal.read(path) == rows
    sentence = "paper: 7 published rows, 2 ran, 1 ran in part, 4 could not run."
    assert rehearsal.sentences(rows) == [sentence]
    page = rehearsal.markdown(rows)
    assert f"- {sentence}" in page
    assert "| table1 | one | ran in part | 1 of 2 | no unit |" in page


@pytest.mark.parametrize("paper", PAPERS)
def test_every_published_row_is_in_the_report_even_without_any_table(paper):
    path = ROOT / f"resources/published/{paper}.csv"
    rows = rehearsal.rehearsed_rows(paper, published.load(path), {})
    with path.open(encoding="utf-8", newline="") as file:
        expected = {(line["table"], line["row"]) for line in csv.DictReader(file)}
    assert {(row.table, row.row) for row in rows} == expected
    assert len(rows) == len(expected)
    assert {row.status for row in rows} == {"could not run"}


def test_the_speeds_are_those_of_trainings_on_a_gpu(tmp_path):
    paths = []
    for seed, (seconds, memory) in enumerate([(3.0, 900), (1.0, 800), (2.0, 700)]):
        throughput = {"updates": 20, "tokens": 4000, "seconds": seconds}
        paths.append(record(tmp_path, "train", seed, throughput | {"gpu_mib": memory}))
    on_processor = {"updates": 2, "tokens": 9, "seconds": 1.0, "gpu_mib": 0}
    paths.append(record(tmp_path, "search", 0, on_processor))
    paths.append(record(tmp_path, "read", 0, None))
    path = tmp_path / "speeds.csv"
    path.write_text(rehearsal.speeds(paths), encoding="utf-8")
    (speed,) = costs.load_records(path).to_dict("records")
    assert (speed["rule"], speed["dataset"], speed["model"]) == ("train", "cuad", "m")
    measures = (speed["seconds"], speed["updates"], speed["tokens"])
    assert measures == (2.0, 20, 4000)
    assert (speed["memory_mib"], speed["device"], speed["jobs"]) == (700, "A100", 3)


def record(folder, experiment, seed, throughput):
    """Write the record of a run."""
    path = folder / f"runs/cuad/{experiment}/key/paper/seed{seed}/run.json"
    path.parent.mkdir(parents=True)
    about = {"settings": {"model": "m"}, "device": "A100"}
    if throughput:
        about["throughput"] = throughput
    path.write_text(json.dumps(about))
    return path
