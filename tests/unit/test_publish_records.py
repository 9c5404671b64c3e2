"""Export of tables as records of Every Eval Ever, as results on the model hub, and as capsules."""

import csv
import io
import json
import math
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from lextables.pipeline import spreadsheet
from lextables.pipeline.errors import BadInput
from lextables.publish import capsules, records
from lextables.tables.cells import Cell, Score, build, to_csv
from lextables.tables.published import PublishedCell, number

# The schema of Every Eval Ever, release 0.2.2; the file contains its licence.
SCHEMA = json.loads((Path(__file__).parents[1] / "every_eval_ever.schema.json").read_text(encoding="utf-8"))
TEXTS = {
    "title": "Quill “scores”",
    "citation": "Quill, 2020.",
    "homepage": "https://example.org",
    "data": "release",
}


def score(measure, system, scale=1, lower=False):
    return Score(measure, system, "metric", scale=scale, lower=lower)


PRINTED = [
    PublishedCell("table1", row, column, value, decimals, "Table 1")
    for row, column, value, decimals in (
        ("BERT", "F1", "54.0%", 1),
        ("BERT", "Parameters", "66M", None),
        ("BERT", "False alarms", "0.20", 2),
        ("Größe “∞” §", "F1", "12.5", 1),
        ("Größe “∞” §", "Examples", "1,898", 0),
        ("Not run", "F1", "90.1", 1),
        ("Not run", "Examples", "N/A", None),
        ("Trained", "F1", "50.0", 1),
    )
]
CELLS = [
    Cell("BERT", "F1", 54.04, 49.0, 58.5, score=score("F1", "BERT", 100), reason="a note; with\nlines"),
    Cell("BERT", "Parameters", "66M"),
    Cell("BERT", "False alarms", 0.31, 0.2, 0.4, score=score("False alarms", "BERT", 1, True)),
    Cell("Größe “∞” §", "F1", math.nan, math.nan, math.nan, score=score("F1", "Größe “∞” §", 100)),
    Cell("Größe “∞” §", "Examples", 1898.0),
    Cell("Not run", "F1", None, reason="needs a GPU", score=score("F1", "Not run", 100)),
    Cell("Not run", "Examples", None, reason="needs a GPU"),
    Cell("Trained", "F1", 50.01, score=score("F1", "Trained", 100), seeds=(49.0, 50.0, 51.03)),
    Cell("=SUM(A1)", "F1", 60.0, score=score("F1", "=SUM(A1)", 100), runs=("runs/quill/read/a/all/seed0",)),
    Cell("-=SUM(A1)", "Other", None, reason="no weights"),
    # Two row names that differ only in characters that ids omit, and a cell with the system as its column.
    Cell("A b", "F1", 1.0),
    Cell("A-b", "F1", 101.5, score=score("F1", "A-b", 100)),
    Cell("Distance", "BERT", 0.5, score=score("Distance", "BERT", 1, True)),
]  # fmt: skip


@pytest.fixture
def quill(tmp_path):
    path = tmp_path / "table1.csv"
    path.write_text(to_csv(build(PRINTED, CELLS, comparable=True)), encoding="utf-8", newline="\n")
    return path


@pytest.fixture
def written(quill, tmp_path):
    """The csv file, the folder of records, all logs, and the logs by (system, origin)."""
    tables = [records.read(quill, paper=paper, name="table1", **TEXTS) for paper in ("quill", "quill_two")]
    records.write(tables, tmp_path)
    logs = [json.loads(path.read_text("utf-8")) for path in (tmp_path / records.LOGS).rglob("*.json")]
    assert len({log["evaluation_id"] for log in logs}) == len(logs)
    by_origin = {
        (log["model_info"]["name"], log["source_metadata"]["additional_details"]["origin"]): log
        for log in logs
        if log["evaluation_id"].startswith("quill/")
    }
    return quill, tmp_path, logs, by_origin


def result(log, metric):
    (entry,) = (each for each in log["evaluation_results"] if each["metric_config"]["metric_name"] == metric)
    return entry


def test_logs_are_valid_and_convert_back_to_the_csv(written):
    path, folder, logs, _ = written
    for log in logs:
        jsonschema.validate(log, SCHEMA)
    text = path.read_text(encoding="utf-8")
    assert records.tables(folder) == {"quill/table1": text, "quill_two/table1": text}
    for file in (folder / records.LOGS).rglob("*.json"):
        # Paths as in the collection of Every Eval Ever: portable names and a UUID of version 4.
        place = file.relative_to(folder / records.LOGS).as_posix()
        assert re.fullmatch(r"data/table1/quill(_two)?/[a-z0-9.-]+/[0-9a-f-]{14}4[0-9a-f-]{21}\.json", place)


def test_published_and_reproduced_values_are_in_separate_logs(written):
    *_, logs = written
    published, computed = (result(logs["BERT", origin], "F1") for origin in ("published", "computed"))
    assert (published["score_details"]["score"], computed["score_details"]["score"]) == (54.0, 54.0)
    assert "uncertainty" not in published["score_details"]
    bounds = computed["score_details"]["uncertainty"]["confidence_interval"]
    assert (bounds["lower"], bounds["upper"]) == (49.0, 58.5)
    assert computed["score_details"]["details"]["verdict"] == "match"
    assert ("=SUM(A1)", "published") not in logs


@pytest.mark.parametrize(
    ("system", "origin", "metric", "lower", "ends", "unit"),
    [
        ("BERT", "computed", "F1", False, (0, 100), "percent"),
        ("BERT", "published", "False alarms", True, (0, 1), "proportion"),
        ("BERT", "computed", "Distance", True, (0, 1), "proportion"),
        ("Größe “∞” §", "computed", "Examples", False, (0, 1898), None),
        ("A b", "computed", "F1", False, (0, 100), "percent"),  # the same scale as its column
        ("A-b", "computed", "F1", False, (0, 101.5), None),  # a value outside the scale
    ],
)
def test_a_metric_has_a_direction_a_range_and_a_unit(written, system, origin, metric, lower, ends, unit):
    config = result(written[3][system, origin], metric)["metric_config"]
    assert config["lower_is_better"] is lower
    assert (config["min_score"], config["max_score"]) == ends
    assert config.get("metric_unit") == unit


def test_cells_without_a_number_have_no_score(written):
    *_, logs = written
    assert logs["Not run", "published"]["evaluation_results"]
    assert ("Not run", "computed") not in logs
    details = logs["Größe “∞” §", "computed"]["source_metadata"]["additional_details"]
    assert [cell["reproduced"] for cell in json.loads(details[records.UNSCORED])] == ["NaN"]
    assert logs["-=SUM(A1)", "computed"]["evaluation_results"] == []


def test_hub_files_contain_every_cell_with_a_number(written):
    path, folder, *_ = written
    rows = [*csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")))]
    values_of = {"published": {}, "computed": {}}
    for file in (folder / records.HUB / "quill").rglob("*.yaml"):
        name, origin, _ = file.name.split(".")
        for entry in parse_eval_result_entries(yaml.safe_load(file.read_text(encoding="utf-8"))):
            details = json.loads(entry.notes)
            values_of[origin][int(details.pop("line"))] = (entry.value, details)
            assert (name, entry.dataset_id) == ("table1", "lextables/quill")
    for origin, columns in (("published", ["published"]), ("computed", ["reproduced", "ours"])):
        values = [next((row[column] for column in columns if row[column]), "") for row in rows]
        assert values_of[origin] == {
            place: (number(value), {name: cell for name, cell in rows[place].items() if cell})
            for place, value in enumerate(values)
            if number(value) is not None
        }


def test_no_tables_give_no_records(tmp_path):
    records.write([], tmp_path)
    capsules.write([], str, "results", tmp_path / "capsules.csv")
    assert records.tables(tmp_path) == {}
    assert [path.read_text() for path in tmp_path.iterdir()] == [",".join(capsules.COLUMNS) + "\n"]


# Capsules


@pytest.fixture
def written_capsules(quill, tmp_path, monkeypatch):
    """The table's csv, the rows of the capsules, and a function that replaces the command."""
    monkeypatch.chdir(tmp_path)
    table = records.read(quill, paper="quill", name="table1", **TEXTS)
    command = "snakemake --cores 4 --config data=release -- {}".format
    capsules.write([table], command, "results", "capsules.csv")
    rows = [*csv.DictReader(io.StringIO(Path("capsules.csv").read_text(encoding="utf-8")))]

    def run(words, text):
        assert words == shlex.split(
            "snakemake --directory capsules --cores 4 --config data=release -- quill_table1"
        )
        file = Path("capsules/results/tables/quill/table1.csv")
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
        return 0

    return quill.read_text(encoding="utf-8"), rows, run


def test_each_matched_value_is_a_question(written_capsules):
    answers = [
        tuple(spreadsheet.text(row[name]) for name in ("row", "column", "answer", "low", "high"))
        for row in written_capsules[1]
    ]
    assert answers == [
        ("BERT", "F1", "54.0", "54.0", "54.0"),
        ("BERT", "Parameters", "66M", "", ""),
        ("Größe “∞” §", "Examples", "1898", "1898", "1898"),
        ("Trained", "F1", "50.0", "44.97", "55.05"),
    ]
    assert written_capsules[1][0]["question"] == "Quill “scores”: what is 'F1' of 'BERT'?"


def test_the_same_answers_are_accepted(written_capsules, capsys):
    text, _, run = written_capsules
    assert capsules.check("capsules.csv", lambda words: run(words, text)) == []
    assert "4 of 4 answers count" in capsys.readouterr().out
    with pytest.raises(BadInput, match="capsules: the folder of a fresh run exists"):
        capsules.check("capsules.csv", lambda words: 0)


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("BERT,F1,54.0%,54.0", "BERT,F1,54.0%,54.1", ["the answer is 54.1, not 54.0"]),
        ("BERT,Parameters,66M,66M", "BERT,Parameters,66M,110M", ["the answer is 110M, not 66M"]),
        ("Trained,F1,50.0,50.0", "Trained,F1,50.0,54.9", []),
        ("Trained,F1,50.0,50.0", "Trained,F1,50.0,55.1", ["the answer is 55.1, not 50.0"]),
        ("Trained,F1,", "Renamed,F1,", ["the answer is missing, not 50.0"]),
    ],
)
def test_an_answer_outside_its_interval_is_not_accepted(written_capsules, old, new, wrong):
    text, _, run = written_capsules
    assert old in text
    problems = capsules.check("capsules.csv", lambda words: run(words, text.replace(old, new)))
    assert [sentence.partition("? ")[2].partition(":")[0] for sentence in problems] == wrong


def test_answers_of_a_failed_command_are_not_accepted(written_capsules):
    problems = capsules.check("capsules.csv", lambda words: 1)
    assert len(problems) == 4 and all("the command failed" in sentence for sentence in problems)
