"""The Python functions: published values, data sets, scores and comparisons, and their docs page."""

import csv
import json
import random
import re
import subprocess
import sys

import pandas as pd
import pyarrow.parquet as pq
import pytest

import lextables
from lextables import ROOT
from lextables.metrics import HIGH, LOW, STRICT
from lextables.metrics.intervals import mean_interval
from lextables.papers import modules
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import write_all
from lextables.pipeline.errors import BadInput
from lextables.tables import comparison
from lextables.tasks.submitted import PLACES
from registered import read
from rule_script import Files, run_script

SAMPLE = "results/sample/data"


def test_the_package_imports_quickly_and_lists_its_functions():
    program = """
import sys, lextables
assert {"compare", "load", "published", "score"} <= {*dir(lextables)}
print([name for name in ("pandas", "torch", "snakemake", "numpy") if name in sys.modules])
"""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"
    with pytest.raises(AttributeError, match="has no attribute 'scores'"):
        lextables.scores  # noqa: B018


# Published values.


def test_published_values_are_those_of_the_files():
    values = lextables.published()
    assert len(values) == 2737
    columns = ("table", "row", "column", "value", "place")
    for path in (ROOT / "resources/published").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            wanted = [
                (*(row[name] for name in columns[:-1]), row["where"])
                for row in csv.DictReader(file)
            ]
        found = values[values["paper"] == path.stem][[*columns]]
        assert [*found.itertuples(index=False, name=None)] == wanted


def test_published_values_of_a_table_have_numbers_and_decimals():
    values = lextables.published("acord", "table_d3")
    assert set(values["table"]) == {"table_d3"} and [*values.index] == [*range(84)]
    ndcg = values[(values["row"] == "BM25 / None") & (values["column"] == "NDCG@5")]
    (row,) = ndcg.to_dict("records")
    assert (row["number"], row["decimals"]) == (float(row["value"]), 3)
    text = lextables.published("cuad")
    text = text[text["number"].isna()]
    assert len(text) and text["decimals"].isna().all() and text["value"].all()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: lextables.published("acrod"),
            "no paper 'acrod'; did you mean 'acord'",
        ),
        (
            lambda: lextables.published("acord", "table_d33"),
            "no table 'table_d33'; did you mean 'table_d3'",
        ),
        (lambda: lextables.published("zzz"), "no paper 'zzz'; choose from acord, cont"),
        (lambda: lextables.load("maud_extract"), "did you mean 'maud_extraction'"),
        (
            lambda: lextables.load("cuad", data="rel"),
            "no data 'rel'; did you mean 'rel",
        ),
        (lambda: lextables.score("CUAD", "x.json"), "did you mean 'cuad'"),
        (
            lambda: lextables.compare("cuad", {"A": "a.json"}),
            "1 systems cannot be compared; give two",
        ),
    ],
)
def test_an_unknown_name_suggests_similar_ones(call, sentence):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        call()


# Data sets.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with data sets of the sample, and predictions for them."""
    folder = tmp_path_factory.mktemp("project")
    for paper, name in (("acord", "acord"), ("cuad", "cuad")):
        tables = modules.module(paper, "schema").TABLES[name]
        counts = write_all(tables, read(paper, name).of, folder / SAMPLE / name)
        census = json.dumps({"data": counts, "notes": {}, "sources": []})
        (folder / SAMPLE / name / "census.json").write_text(census)
    for seed in range(3):
        write_spans(folder, f"spans{seed}.json", random.Random(seed))
        write_run(folder, f"ranking{seed}.run", random.Random(seed))
    return folder


def write_spans(folder, name, rng):
    """Write spans for CUAD's test questions: some gold ones, and others from the contract."""
    tables = {
        table: pq.read_table(folder / SAMPLE / "cuad" / f"{table}.parquet").to_pylist()
        for table in ("contracts", "questions", "answers")
    }
    texts = {row["contract_id"]: row["text"] for row in tables["contracts"]}
    nbest = {}
    for row in tables["questions"]:
        words = texts[row["contract_id"]].split()
        start = rng.randrange(len(words) - 9)
        found = [" ".join(words[start : start + 9]), ""]
        for answer in tables["answers"]:
            if answer["question_id"] == row["question_id"] and rng.random() < 0.5:
                found.append(" ".join(answer["text"].split()))
        nbest[row["question_id"]] = [
            {"text": text, "probability": rng.random()} for text in found
        ]
    (folder / name).write_text(json.dumps(nbest))


def write_run(folder, name, rng):
    """Write a random ranking of the judged clauses of ACORD's queries."""
    judged = pq.read_table(folder / SAMPLE / "acord/judgements.parquet").to_pylist()
    lines = []
    for row in judged:
        hit = (row["query_id"], "Q0", row["clause_id"], "0", repr(rng.random()), "x")
        lines.append("\t".join(hit) + "\n")
    (folder / name).write_text("".join(lines))


def test_data_sets_are_frames_of_their_tables(folder):
    frames = lextables.load("acord", folder=folder)
    assert {*frames} == {"clauses", "judgements", "queries", "ratings"}
    path = folder / SAMPLE / "acord"
    for name, frame in frames.items():
        assert frame.equals(pd.read_parquet(path / f"{name}.parquet"))
        assert frame.attrs["folder"] == str(path)


def test_the_release_is_preferred_if_it_is_built(folder, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results/sample").symlink_to(folder / "results/sample")
    assert len(lextables.load("acord", folder=tmp_path)["queries"]) == 24
    released = tmp_path / "results/data/acord"
    released.mkdir(parents=True)
    (released / "census.json").write_text('{"data": {}}')
    assert lextables.load("acord", folder=tmp_path) == {}
    assert lextables.load("acord", "sample", tmp_path)


@pytest.mark.parametrize("data", ["sample", "release"])
def test_the_error_for_a_missing_data_set_is_a_command_that_snakemake_accepts(
    tmp_path, data
):
    with pytest.raises(BadInput, match="the data set acord is not built") as error:
        lextables.load("acord", data, tmp_path)
    command = str(error.value).partition("run in this folder: ")[2].rstrip(".")
    program, *arguments = command.replace("'", "").split()
    assert program == str(ROOT / ".venv/bin/snakemake")
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "acord" in run.stdout + run.stderr


# Scores, against the scripts of the rules.


def scripted(folder, out, monkeypatch, task, files, score, **params):
    """Run the scripts that check and score submitted predictions; return their tables."""
    data = [
        folder / SAMPLE / task["data"] / f"{name}.parquet" for name in task["check"]
    ]
    scored = [
        folder / SAMPLE / task["data"] / f"{name}.parquet" for name in task["score"]
    ]
    found = []
    for seed, file in enumerate(files):
        digest = sha256_of(folder / file)
        content = digest if digest.startswith("sha256:") else f"sha256:{digest}"
        monkeypatch.setenv(PLACES, json.dumps({content: str(folder / file)}))
        run = out / f"seed{seed}"
        run.mkdir()
        output = Files(predictions=run / "predictions.parquet", record=run / "run.json")
        settings = {"form": task["form"], "content": content}
        run_script(
            "submitted.py",
            run / "log.txt",
            Files(data=data),
            output,
            params={"settings": settings, "task": task["task"]},
        )
        files_of_run = Files(predictions=output.predictions, data=scored)
        output = Files(scores=run / "scores.parquet", units=run / "units.parquet")
        run_script(score, run / "log.txt", files_of_run, output, params=params)
        rows = pq.read_table(output.scores).to_pylist()
        found.append({(row["metric"], row["group"]): row for row in rows})
    return found


SPANS = {
    "data": "cuad",
    "form": "nbest",
    "check": ("contracts", "questions"),
    "score": ("questions", "answers"),
    "task": {"task": "spans", "n_best": 20, "linear": None, "evaluator": "spans"},
}


@pytest.mark.parametrize("seeds", [1, 2])
def test_scores_are_those_of_the_rules(folder, tmp_path, monkeypatch, seeds):
    files = [f"spans{seed}.json" for seed in range(seeds)]
    options = {"relaxed": "Parties", "low_thresholds": [0.001, 0.0]}
    wanted = scripted(
        folder,
        tmp_path,
        monkeypatch,
        SPANS,
        files,
        "spans_score.py",
        evaluator="spans",
        settings=options,
    )
    monkeypatch.chdir(folder)
    frame = lextables.score("cuad", files if seeds > 1 else files[0])
    assert not frame["group"].str.contains("low|high").any()
    names = set()
    for row in frame.to_dict("records"):
        metric = row["metric"] + (STRICT if row["mode"] == "strict" else "")
        names.add((metric, row["group"]))
        for column, suffix in (("value", ""), ("low", LOW), ("high", HIGH)):
            key = (metric + suffix, row["group"])
            values = [scores[key]["value"] for scores in wanted if key in scores]
            if values and row["n"]:
                assert row[column] == pytest.approx(sum(values) / seeds, abs=1e-15)
            else:
                assert pd.isna(row[column]) and (column != "value" or not row["n"])
        assert (row["seeds"], row["data_set"]) == (seeds, "cuad")
        assert row["n"] == wanted[0][metric, row["group"]]["n"]
    assert names == {key for key in wanted[0] if not key[0].endswith((LOW, HIGH))}
    whole = frame[(frame["group"] == "all") & (frame["metric"] == "AUPR")]
    assert [*whole["mode"]] == ["paper", "strict"]
    assert whole["low"].notna().tolist() == [True, False]


def test_a_comparison_is_the_paired_test_of_the_units(folder, monkeypatch):
    monkeypatch.chdir(folder)
    systems = {
        "One seed": "ranking0.run",
        "Two seeds": ["ranking1.run", "ranking2.run"],
    }
    pairs = lextables.compare("acord", systems)
    assert set(pairs["table"]) >= {"table_d3", "table3"}
    (pair,) = pairs.query("table == 'table_d3' and measure == 'NDCG@10'").to_dict(
        "records"
    )
    scores = {
        name: lextables.score("acord", files).query(
            "metric == 'NDCG@10' and group.str.startswith('query: ')"
        )
        for name, files in systems.items()
    }
    first, second = (
        scores[pair[side].removesuffix(" / None")]["value"].to_numpy()
        for side in ("one", "other")
    )
    differences = first - second
    assert pair["difference"] == pytest.approx(differences.mean())
    assert pair["units"] == f"{len(differences)} queries"
    assert pair["p"] == pair["adjusted"] == comparison.sign_flip(differences[None])[0]
    assert pair["low"] < pair["difference"] < pair["high"] and pair["detectable"] > 0
    whole = lextables.score("acord", "ranking0.run").query(
        "metric == 'NDCG@10' and group == 'all'"
    )
    ends = mean_interval(scores["One seed"]["value"], (0, 1))
    assert whole[["low", "high"]].to_numpy()[0] == pytest.approx(ends)
    assert pair["differs"] == (pair["p"] < 0.05) and pair["untested"] == ""


def test_too_few_units_are_not_tested(folder, monkeypatch):
    monkeypatch.chdir(folder)
    pairs = lextables.compare("cuad", {"A": "spans0.json", "B": "spans1.json"})
    (pair,) = pairs.to_dict("records")
    assert (pair["measure"], pair["untested"]) == ("AUPR", "too few units")
    assert pd.isna(pair["p"])


BAD = {
    "missing": ("absent.json", None, "does not exist; give an existing file"),
    "empty": ("empty.json", "", "is empty; write it again"),
    "format": ("spans.txt", "{}", "the format is not clear from the name"),
    "json": ("bad.json", '{"a": [}', "bad.json"),
    "question": ("bad.json", '{"a": []}', "the data set has no question 'a'"),
    "incomplete": ("bad.json", "{}", "no prediction for 82 of the 82 test questions"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_file_gets_the_sentence_of_the_pipeline(folder, tmp_path, fault):
    name, content, sentence = BAD[fault]
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(BadInput, match=re.escape(sentence)):
        lextables.score("cuad", tmp_path / name, folder=folder)


@pytest.mark.parametrize(
    ("systems", "sentence"),
    [
        (
            {"RoBERTa-base": "spans0.json", "B": "spans1.json"},
            "'RoBERTa-base' reads like",
        ),
        ({"A": "spans0.json", "a": "spans1.json"}, "'A' and 'a' read alike"),
        ({"A": [], "B": "spans1.json"}, "file = [] is not allowed"),
        ({"A": ["spans0.json"] * 2, "B": "spans1.json"}, "have the same content"),
        ({"A": "spans0.json", "B": "ranking0.run"}, "the format is not clear"),
    ],
)
def test_a_bad_comparison_gets_the_sentence_of_the_pipeline(
    folder, monkeypatch, systems, sentence
):
    monkeypatch.chdir(folder)
    with pytest.raises(BadInput, match=re.escape(sentence)):
        lextables.compare("cuad", systems)


def test_the_examples_of_the_page_run(folder, monkeypatch, capsys):
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 4
    monkeypatch.chdir(folder)
    names = {}
    exec("\n".join(blocks), names)
    assert "NDCG@10" in capsys.readouterr().out
    assert len(names["acord"]) == 4 and len(names["values"]) == 84
    assert {*names["tests"]["one"]} <= {"Common words / None", "Longest / None"}
    assert f"all {len(lextables.published()):,} values" in page
