"""The Python functions that return published values and data sets."""

import csv
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lextables
from helpers import forked
from helpers.notebook_folder import DATA, write_folder
from lextables import ROOT
from lextables.cli import app
from lextables.notebook import project
from lextables.pipeline.errors import BadInput


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


def test_published_values_are_those_of_the_files():
    values = lextables.published()
    assert len(values) == 2739
    columns = ["table", "row", "column", "value", "place"]
    for path in (ROOT / "resources/published").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            wanted = pd.DataFrame(csv.DictReader(file)).rename(
                columns={"where": "place"}
            )
        found = values[values["paper"] == path.stem]
        assert np.array_equal(found[columns], wanted[columns])


def test_published_values_have_the_order_of_the_papers_names(monkeypatch):
    files = sorted(ROOT.glob("resources/published/*.csv"))
    monkeypatch.setattr(Path, "glob", lambda folder, pattern: files[::-1])
    papers = lextables.published()["paper"].unique()
    assert [*papers] == [file.stem for file in files]


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
    ("call", "arguments", "sentence"),
    [
        (
            "published",
            ["acord", "table_d33"],
            "no table 'table_d33'; did you mean 'table_d3' or 'table_d5' or 'table_d4'.",
        ),
        ("published", ["zzz"], "no paper 'zzz'; choose from acord, cont"),
        ("load", ["maud_extract"], "did you mean 'maud_extraction'"),
        ("load", [["acord"]], "no data set ['acord']; did you mean 'acord'"),
        ("load", ["cuad", ""], "no data ''; choose from release, sample"),
        (
            "load",
            ["cuad", "release", "/no"],
            "'/no' cannot be used as a path ([Errno 2]",
        ),
        ("load", ["cuad", "release", "a\0"], "cannot be used as a path (embedded null"),
        (
            "score",
            ["anli", "x.csv"],
            "paper = 'anli' is neither a paper nor a data set",
        ),
        ("score", ["cuad", None], "None cannot be used as a path"),
        ("score", ["cuad", ["~no-such-user/x"]], "no-such-user/x' cannot be used as a"),
        ("score", ["cuad", "x.csv"], "lextables, submitted predictions: the format is"),
        ("score", ["cuad", "x", ""], "lextables: extra_predictions.0.format = '' is"),
        ("compare", ["cuad", {"A": "a.json"}], "files of two systems or more"),
        ("compare", ["cuad", "ab"], "files of two systems or more; give"),
    ],
)
def test_a_bad_argument_is_named_with_similar_or_allowed_ones(
    call, arguments, sentence
):
    with pytest.raises(BadInput, match=re.escape(sentence)):
        getattr(lextables, call)(*arguments)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with the sample's data sets as the release's, and predictions
    for them.
    """
    return write_folder(tmp_path_factory.mktemp("project"))


def test_data_sets_are_frames_of_their_tables(folder):
    frames = lextables.load("acord", folder=folder)
    assert {*frames} == {"clauses", "judgements", "queries", "ratings"}
    path = folder / DATA / "acord"
    for name, frame in frames.items():
        assert frame.equals(pd.read_parquet(path / f"{name}.parquet"))
        assert frame.attrs["folder"] == str(path)


def test_the_sample_is_loaded_only_if_it_is_asked_for(folder, tmp_path):
    sample = tmp_path / "results/sample/data"
    sample.mkdir(parents=True)
    (sample / "acord").symlink_to(folder / DATA / "acord")
    with pytest.raises(BadInput, match="acord is not built.* --data release"):
        lextables.load("acord", folder=tmp_path)
    with pytest.warns(project.SampleWarning, match="acord: the sample's texts are"):
        frames = lextables.load("acord", "sample", tmp_path)
    assert {frame.attrs["data"] for frame in frames.values()} == {"sample"}
    released = lextables.load("acord", folder=folder)
    assert {frame.attrs["data"] for frame in released.values()} == {"release"}


def test_a_missing_table_is_named_with_the_mirrors_of_the_last_run(tmp_path):
    released = tmp_path / "results/data/acord"
    released.mkdir(parents=True)
    census = released / "census.json"
    census.write_text('{"data": {}, "sources": []}')
    assert lextables.load("acord", folder=tmp_path) == {}
    census.write_text('{"data": {"queries": {}}, "sources": []}')
    mirror = tmp_path / "raw files"
    (tmp_path / "results/config.yaml").write_text(f"mirror: ['{mirror}']\n")
    missing = f"not built: queries.parquet is missing; .* --mirror '{mirror}' "
    with pytest.raises(BadInput, match=missing):
        lextables.load("acord", folder=tmp_path)


@pytest.mark.parametrize("data", ["sample", "release"])
def test_the_error_for_a_missing_data_set_is_a_command_that_snakemake_accepts(
    tmp_path, monkeypatch, data
):
    with pytest.raises(BadInput, match="the data set acord is not built") as error:
        lextables.load("acord", data, tmp_path)
    command = str(error.value).partition("run in this folder: ")[2].rstrip(".")
    program, *arguments = shlex.split(command)
    assert program == "lextables"
    started = []
    monkeypatch.setattr(app, "execute", started.extend)
    app.app(arguments, standalone_mode=False)
    run = forked.snakemake(tmp_path, "--dry-run", *started)
    assert run.code == 0, run.output
    assert "acord" in run.output
