"""The Python functions that score and compare predictions, of files or of objects."""

import json
import math
import re
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import lextables
from helpers.notebook_folder import DATA, write_folder
from lextables.metrics import HIGH, LOW, STRICT
from lextables.metrics.intervals import mean_interval
from lextables.notebook import objects, project, scoring
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput
from lextables.tables import comparison
from lextables.tasks.job import Job
from lextables.tasks.submitted import PLACES

# The sample's data sets stand for the release's here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::lextables.notebook.project.OtherDataWarning"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with the sample's data sets as the release's, and predictions
    for them.
    """
    return write_folder(tmp_path_factory.mktemp("project"))


def test_the_working_folder_is_locked_while_runs_are_scored(monkeypatch):
    lock = scoring.WORKING_FOLDER
    monkeypatch.setattr(scoring, "scored_runs", lambda *_: nullcontext(lock.locked()))
    monkeypatch.setattr(scoring, "_scores", bool)
    monkeypatch.setattr(scoring, "_pairs", bool)
    monkeypatch.setattr(scoring, "_describe_data", lambda *_: None)
    assert lextables.score("acord", "a")
    assert lextables.compare("acord", {"a": 1, "b": 2})


CLASSIFIED = ("evaluator", "metrics", "unit", "multi_label", "views", "groups")
# The fields of the task that are not its own here.
OTHERS = {"relaxed": "Parties", "low_thresholds": [0.001, 0.0], "queries": None}


class TaskFiles(NamedTuple):
    """The kind of a task, the format of its predictions, and the tables that their
    check and their scores read.
    """

    kind: str
    form: str
    checked: Sequence[str]
    scored: Sequence[str]


ACORD = ("clauses", "queries", "judgements")
MAUD = ("examples", "questions")
PRIVACY = ("questions", "responses", "paragraphs")
TASKS = {
    "acord": TaskFiles("retrieval", "csv", ACORD, ACORD),
    "cuad": TaskFiles(
        "spans", "nbest", ("contracts", "questions"), ("questions", "answers")
    ),
    "maud": TaskFiles("classification", "jsonl", MAUD, MAUD),
    "privacy": TaskFiles("answers", "jsonl", (*PRIVACY, "sites"), PRIVACY),
}


def by_actions(folder, out, monkeypatch, name, files):
    """Yield the scores that the actions write, {(metric, group): row}, for each
    file.
    """
    files_of_task = TASKS[name]
    place = folder / DATA / name
    checked = [place / f"{table}.parquet" for table in files_of_task.checked]
    scored = [place / f"{table}.parquet" for table in files_of_task.scored]
    task_package = f"lextables.tasks.{files_of_task.kind}"
    checker = import_module(f"{task_package}.submitted")
    scorer = import_module(f"{task_package}.actions.score")
    task = project.registry()[name].tasks[name].model_dump(mode="json") | OTHERS
    scored_task = task
    if files_of_task.kind == "classification":
        scored_task = {key: task[key] for key in CLASSIFIED} | {"views": {}}
        scored_task["test"] = ["test"]
    for file in files:
        content = f"sha256:{sha256_of(folder / file)}"
        monkeypatch.setenv(PLACES, json.dumps({content: str(folder / file)}))
        stored = {"predictions": [out / "predictions.parquet"]}
        stored["record"] = [out / "run.json"]
        settings = {"form": files_of_task.form, "content": content}
        checker.run(Job({"data": checked}, stored, settings, task))
        inputs = {
            "predictions": [out / "predictions.parquet"],
            "data": scored,
            "census": [place / "census.json"],
        }
        made = {output: [out / f"{output}.parquet"] for output in ("scores", "units")}
        scorer.run(Job(inputs, made, {}, scored_task, experiment="submitted"))
        rows = pq.read_table(out / "scores.parquet").to_pylist()
        yield {(row["metric"], row["group"]): row for row in rows}


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("cuad", ["spans0.json"]),
        ("cuad", ["spans0.json", "spans1.json"]),
        ("acord", ["ranking0.csv"]),
        ("maud", ["maud.jsonl"]),
        ("privacy", ["privacy.jsonl"]),
    ],
)
def test_scores_are_those_of_the_rules(folder, tmp_path, monkeypatch, name, files):
    rule_scores = [*by_actions(folder, tmp_path, monkeypatch, name, files)]
    monkeypatch.chdir(folder)
    function_scores = {}
    frame = lextables.score(name, files if len(files) > 1 else files[0])
    assert not frame["metric"].str.endswith((LOW, HIGH)).any()
    for row in frame.to_dict("records"):
        if not math.isnan(row["low"]):
            assert row["low"] <= row["value"] <= row["high"]
        metric = row["metric"] + (STRICT if row["mode"] == "strict" else "")
        for column, suffix in (("value", ""), ("low", LOW), ("high", HIGH)):
            function_scores[metric + suffix, row["group"]] = row[column]
        n = rule_scores[0][metric, row["group"]]["n"]
        assert (row["n"], row["seeds"], row["data_set"]) == (n, len(files), name)
    for key, row in rule_scores[0].items():
        mean = (
            fmean(scores[key]["value"] for scores in rule_scores)
            if row["n"]
            else math.nan
        )
        assert function_scores.pop(key) == pytest.approx(mean, abs=1e-15, nan_ok=True)
    # What the actions do not write is left over: intervals of tables; CUAD's have none.
    assert all(metric.endswith((LOW, HIGH)) for metric, _ in function_scores)
    assert name != "cuad" or np.isnan([*function_scores.values()]).all()


def test_a_comparison_is_the_paired_test_of_the_units(folder, monkeypatch):
    monkeypatch.chdir(folder)
    systems = {
        "One seed": "ranking0.csv",
        "Two seeds": ["ranking1.csv", "ranking2.csv"],
    }
    pairs = lextables.compare("acord", systems)
    assert set(pairs["table"]) >= {"table_d3", "table3"}
    (pair,) = pairs.query("table == 'table_d3' and measure == 'NDCG@10'").to_dict(
        "records"
    )
    scores = {}
    for name, files in systems.items():
        frame = lextables.score("acord", files)
        frame = frame[frame["metric"] == "NDCG@10"].set_index("group")
        scores[f"{name} / None"] = frame[["value", "low", "high"]]
    first, second = (
        scores[pair[side]].filter(like="query: ", axis=0)["value"].to_numpy()
        for side in ("one", "other")
    )
    differences = first - second
    assert pair["difference"] == pytest.approx(differences.mean())
    assert pair["units"] == f"{len(differences)} queries"
    assert pair["p"] == pair["adjusted"] == comparison.sign_flip(differences[None])[0]
    assert pair["low"] < pair["difference"] < pair["high"] and pair["detectable"] > 0
    ends = mean_interval(first, (0, 1))
    assert [*scores[pair["one"]].loc["all"]] == pytest.approx([first.mean(), *ends])
    assert pair["differs"] == (pair["p"] < 0.05) and pair["untested"] == ""


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [
        ("acord", "ranking0.csv", "query_id"),
        ("maud", "maud.jsonl", "example_id"),
        ("privacy", "privacy.jsonl", "document_id"),
    ],
)
def test_objects_have_the_scores_of_their_files(folder, monkeypatch, name, file, key):
    monkeypatch.chdir(folder)
    is_csv = file.endswith(".csv")
    frame = pd.read_csv(file) if is_csv else pd.read_json(file, lines=True)
    scores = lextables.score(name, file)
    assert scores.attrs["data"] == "release"
    pd.testing.assert_frame_equal(lextables.score(name, frame), scores)
    records = frame.to_dict("records")
    pd.testing.assert_frame_equal(lextables.score(name, records), scores)
    with pytest.raises(BadInput, match=f"{key!r}|{key} is missing|no .* is answered"):
        lextables.score(name, frame.rename(columns={key: "id"}))
    with pytest.raises(BadInput, match="the predictions have no rows"):
        lextables.score(name, frame[:0])


def test_spans_and_seeds_can_be_objects(folder, monkeypatch):
    monkeypatch.chdir(folder)
    nbest = json.loads(Path("spans0.json").read_text())
    scores = lextables.score("cuad", "spans0.json")
    pd.testing.assert_frame_equal(lextables.score("cuad", nbest), scores)
    files = ["ranking0.csv", "ranking1.csv"]
    frames = [pd.read_csv(file) for file in files]
    scores = lextables.score("acord", files)
    pd.testing.assert_frame_equal(lextables.score("acord", frames), scores)
    seeds = [frame.to_dict("records") for frame in frames]
    pd.testing.assert_frame_equal(lextables.score("acord", seeds), scores)
    files = ["spans0.json", "spans1.json"]
    spans = [json.loads(Path(file).read_text()) for file in files]
    scores = lextables.score("cuad", files)
    pd.testing.assert_frame_equal(lextables.score("cuad", spans), scores)


def test_objects_are_compared_as_their_files(folder, monkeypatch):
    monkeypatch.chdir(folder)
    systems = {"A": "ranking0.csv", "B": ["ranking1.csv", "ranking2.csv"]}
    pairs = lextables.compare("acord", systems)
    frames = [pd.read_csv(file) for file in systems["B"]]
    records = pd.read_csv(systems["A"]).to_dict("records")
    compared = lextables.compare("acord", {"A": records, "B": frames})
    pd.testing.assert_frame_equal(compared, pairs)


def test_objects_keep_all_digits_ends_of_lines_and_missing_outputs(tmp_path):
    small = np.array([1.2345678901234567e-09, 1 - 2**-53])
    rows = [{"example_id": "e", "probabilities": small, "head_id": None}]
    (file,) = objects.written(rows, tmp_path)
    record = json.loads(file.read_text())
    assert record == {**rows[0], "probabilities": small.tolist()}
    nbest = {"q": [{"text": "a", "probability": np.float32(0.1)}]}
    (file,) = objects.written(nbest, tmp_path)
    assert json.loads(file.read_text())["q"][0]["probability"] == np.float32(0.1)
    rows = [{"question_id": "q", "output": text} for text in ("a\rb", "", None)]
    (file,) = objects.written(pd.DataFrame(rows), tmp_path)
    assert [*map(json.loads, file.read_text().splitlines())] == rows


@pytest.mark.parametrize(
    ("predictions", "sentence"),
    [
        ({"q": {"d": 1.0}}, "but not one of n-best spans; give {question id: "),
        ({"test-1": [0.5, 0.5]}, "but not one of n-best spans; give {question id: "),
        ({"q": [{"text": object()}]}, "cannot be written ("),
        ([{"question_id": "q", "output": "\ud83d"}], "cannot be written ("),
        (
            pd.DataFrame(
                [["e", [1], [0]]], columns=["example_id", *["probabilities"] * 2]
            ),
            "cannot be written (a column appears twice); give plain text and numbers",
        ),
    ],
)
def test_objects_that_cannot_be_written_are_named(tmp_path, predictions, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        objects.written(predictions, tmp_path)


def test_a_part_of_the_predictions_is_scored_if_it_is_asked_for(folder, monkeypatch):
    monkeypatch.chdir(folder)
    hits = pd.read_csv("ranking0.csv")
    scores = lextables.score("acord", "ranking0.csv").set_index(["metric", "group"])
    tested = [name for name in scores.loc["NDCG@10"].index if name.startswith("query")]
    queries = sorted(name.removeprefix("query: ") for name in tested)
    part = hits[hits["query_id"].isin(queries[:3])]
    with pytest.raises(BadInput, match=r"predict each of them, or use partial \("):
        lextables.score("acord", part)
    found = lextables.score("acord", part, partial=True).set_index(["metric", "group"])
    assert found.loc[("NDCG@10", "all"), "n"] == 3
    values = [
        scores.loc[("NDCG@10", f"query: {name}"), "value"] for name in queries[:3]
    ]
    assert found.loc[("NDCG@10", "all"), "value"] == pytest.approx(fmean(values))
    complete = lextables.score("acord", "ranking0.csv", partial=True)
    again = lextables.score("acord", "ranking0.csv")
    pd.testing.assert_frame_equal(complete, again)
    other = hits[hits["query_id"].isin(queries[2:5])]
    both = lextables.score("acord", [part, other], partial=True)
    assert set(both.query("metric == 'NDCG@10' and group == 'all'")["n"]) == {1}
    assert complete.attrs["left_out"] == 0 and "left_out" not in scores.attrs
    assert both.attrs["left_out"] == len(queries) - 1


@pytest.mark.parametrize("name", ["cuad", "privacy"])
def test_files_that_share_no_test_item_are_refused(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    if name == "cuad":
        items = [*json.loads(Path("spans0.json").read_text()).items()]
        parts = [dict(items[::2]), dict(items[1::2])]
    else:
        answers = pd.read_json("privacy.jsonl", lines=True)
        is_first = answers["question_id"] == answers["question_id"][0]
        parts = [answers[is_first], answers[~is_first]]
    with pytest.raises(BadInput, match="no test item is predicted by all files"):
        lextables.score(name, parts, partial=True)
    systems = {"A": parts[0], "B": parts[1]}
    with pytest.raises(BadInput, match="no test item is predicted by all files"):
        lextables.compare(name, systems, partial=True)


def test_what_all_systems_predict_is_compared_if_it_is_asked_for(folder, monkeypatch):
    monkeypatch.chdir(folder)
    hits = [pd.read_csv(f"ranking{seed}.csv") for seed in range(2)]
    scores = lextables.score("acord", "ranking0.csv")
    groups = sorted({*scores["group"][scores["group"].str.startswith("query: ")]})
    queries = [group.removeprefix("query: ") for group in groups]
    for name, frame, part in (
        ("most.csv", hits[0], queries[:-1]),
        ("others.csv", hits[1], queries[1:]),
    ):
        frame[frame["query_id"].isin(part)].to_csv(name, index=False)
    systems = {"Most": "most.csv", "Others": "others.csv"}
    with pytest.raises(BadInput, match=r"predict each of them, or use partial \("):
        lextables.compare("acord", systems)
    pairs = lextables.compare("acord", systems, partial=True)
    (pair,) = pairs.query("table == 'table_d3' and measure == 'NDCG@10'").to_dict(
        "records"
    )
    means = {}
    for name, file in (("Most / None", "most.csv"), ("Others / None", "others.csv")):
        scores = lextables.score("acord", file, partial=True)
        scores = scores[scores["metric"] == "NDCG@10"].set_index("group")["value"]
        means[name] = scores[groups[1:-1]].mean()
    assert pair["units"] == f"{len(groups) - 2} queries"
    assert pair["difference"] == pytest.approx(
        means[pair["one"]] - means[pair["other"]]
    )


def test_scores_on_data_that_are_not_the_papers_give_a_warning(
    folder, monkeypatch, tmp_path
):
    monkeypatch.chdir(folder)
    data = tmp_path / DATA / "acord"
    data.mkdir(parents=True)
    for file in Path(DATA, "acord").glob("*.parquet"):
        (data / file.name).symlink_to(file.absolute())
    census = json.loads(Path(DATA, "acord/census.json").read_text())
    (source,) = census["sources"]
    source |= {"variant": "partial", "note": "7 of 92 queries"}
    systems = {"A": "ranking0.csv", "B": "ranking1.csv"}
    note = r"^acord: partial data: not comparable with the paper \(7 of 92 queries\)$"
    for is_comparable in (False, True):
        source["comparable"] = is_comparable
        (data / "census.json").write_text(json.dumps(census))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", project.OtherDataWarning)
            scores = lextables.score("acord", "ranking0.csv", folder=tmp_path)
            pairs = lextables.compare("acord", systems, folder=tmp_path)
        for frame in (scores, pairs):
            assert frame.attrs == {"data": "release", "comparable": is_comparable}
        assert len(caught) == (0 if is_comparable else 2)
        for warning in caught:
            assert re.search(note, str(warning.message))
            assert warning.filename == __file__


@pytest.mark.parametrize(
    ("name", "file"), [("cuad", "spans0.json"), ("maud", "maud.jsonl")]
)
def test_a_part_of_the_questions_has_fewer_units(
    folder, monkeypatch, tmp_path, name, file
):
    monkeypatch.chdir(folder)
    part = tmp_path / file
    if name == "cuad":
        nbest = json.loads(Path(file).read_text())
        part.write_text(json.dumps(dict([*nbest.items()][::2])))
    else:
        lines = Path(file).read_text().splitlines()
        part.write_text("\n".join(lines[::2]))
    scores = lextables.score(name, part, partial=True)
    assert 0 < scores["n"].sum() < lextables.score(name, file)["n"].sum()


def test_a_part_of_the_answered_pairs_is_scored(folder, monkeypatch):
    monkeypatch.chdir(folder)
    answers = pd.read_json("privacy.jsonl", lines=True)
    scores = lextables.score("privacy", answers)
    part = answers[answers["question_id"] == answers["question_id"][0]]
    frame = lextables.score("privacy", part, partial=True)
    assert 0 < frame["n"].max() < scores["n"].max()


def test_a_part_without_any_prediction_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput, match="no prediction for 82 of the 82"):
        lextables.score("cuad", "none.json", partial=True)


@pytest.mark.parametrize(
    ("systems", "sentence"),
    [
        (
            {"RoBERTa-base": "spans0.json", "B": "spans1.json"},
            "'RoBERTa-base' reads like",
        ),
        ({"A": ["spans0.json"] * 2, "B": "spans1.json"}, "have the same content"),
        ({"A": "spans0.json", "B": "none.json"}, "no prediction for 82 of the 82"),
    ],
)
def test_a_bad_comparison_gets_the_sentence_of_the_pipeline(
    folder, monkeypatch, systems, sentence
):
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput, match=re.escape(sentence)):
        lextables.compare("cuad", systems)
