"""Submitted predictions before a run: their data sets, file formats and rows."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lextables import ROOT
from lextables.models.resolve import load_models
from lextables.pipeline.config import load as load_config
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning import paper_plan, submitted
from lextables.registry import packages
from lextables.tasks.planner import Context

PAPERS = {
    path.stem: packages.load(path)
    for path in sorted((ROOT / "resources/papers").glob("*.yaml"))
}
MODELS = load_models(ROOT / "resources/models.yaml")
ALL = sorted(PAPERS)


@pytest.fixture
def find(tmp_path, monkeypatch):
    """Returns a function that finds the predictions of entries for requested papers."""
    monkeypatch.chdir(tmp_path)
    for name in (
        "run.txt",
        "run.csv",
        "run.jsonl",
        "nbest.json",
        "nbest.json.gz",
        "run.dat",
        "other.json",
    ):
        Path(name).write_text(name)
    Path("folder.txt").mkdir()
    Path("empty.txt").touch()
    os.mkfifo("pipe.txt")

    def find_submitted(*entries, asked=ALL, **values):
        config = load_config(
            {"papers": asked, "extra_predictions": list(entries)} | values, ALL, ROOT
        )
        return submitted.find(config, PAPERS, Contents(tmp_path / ".cache")), config

    return find_submitted


def entry(file="run.txt", paper="acord", name="Mine", **more):
    return {"name": name, "paper": paper, "file": file} | more


@pytest.mark.parametrize(
    ("extra", "name", "form"),
    [
        (entry(), "acord", "trec"),
        (entry("run.csv"), "acord", "csv"),
        (entry("run.jsonl"), "acord", "jsonl"),
        (entry("run.dat", format="trec"), "acord", "trec"),
        (entry("run.txt", format="csv"), "acord", "csv"),
        (entry("nbest.json", "cuad"), "cuad", "nbest"),
        (entry("nbest.json.gz", "cuad"), "cuad", "nbest"),
        (entry(["nbest.json", "nbest.json.gz"], "maud"), "maud_extraction", "nbest"),
        (entry("run.dat", "maud", format="nbest"), "maud_extraction", "nbest"),
        (entry("nbest.json", "maud_extraction"), "maud_extraction", "nbest"),
        (entry("run.csv", "maud"), "maud", "csv"),
    ],
)
def test_the_file_format_determines_the_data_set(find, extra, name, form):
    found, _ = find(extra)
    ((where, (row,)),) = found.rows.items()
    assert (where, row.row, row.key, row.form) == (name, "Mine", "own-mine", form)
    assert sorted(found.places) == sorted(row.contents)
    files = [extra["file"]] if isinstance(extra["file"], str) else extra["file"]
    assert [found.places[content] for content in row.contents] == [
        str(Path(file).resolve()) for file in files
    ]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        (
            [entry(paper="acrod")],
            "paper = 'acrod' is neither a paper nor a data set of the registry; choose",
        ),
        ([entry(paper="opp")], "paper = 'opp' is neither a paper nor a data set"),
        (
            [entry(paper="anli")],
            "paper = 'anli' is neither a paper nor a data set of the registry; choose",
        ),
        (
            [entry(format="nbest")],
            "format = 'nbest' is not a format for acord; choose from csv",
        ),
        (
            [entry("run.dat")],
            "the format is not clear from the name 'run.dat'; add a format: csv or",
        ),
        (
            [entry(paper="cuad")],
            "the format is not clear from the name 'run.txt'; add a format: nbest.",
        ),
        (
            [entry(["run.txt", "run.csv"])],
            "the format is not clear from the files' names; add a format",
        ),
        (
            [entry("none.txt")],
            "the file 'none.txt' does not exist; give an existing file.",
        ),
        (
            [entry("folder.txt")],
            "the file 'folder.txt' is a folder; give the file in it.",
        ),
        ([entry("empty.txt")], "the file 'empty.txt' is empty; write it again."),
        ([entry("pipe.txt")], "the file 'pipe.txt' is not a file; give a file."),
        (
            [entry(["run.txt", "./run.txt"])],
            "the files 'run.txt' and './run.txt' have the same content;",
        ),
        (
            [entry(), entry("run.csv")],
            "the row appears twice for acord; list each row once, ",
        ),
        (
            [entry("run.csv", "maud"), entry("run.jsonl", "maud")],
            "the row appears twice for maud; ",
        ),
    ],
)
def test_invalid_entries_raise_an_error_of_one_sentence(find, entries, sentence):
    with pytest.raises(BadInput) as error:
        find(*entries)
    assert str(error.value).startswith(f"config, extra_predictions, Mine: {sentence}")
    assert str(error.value).count(". ") == 0 and str(error.value).endswith(".")


def test_a_paper_with_several_data_sets_of_one_format_requires_the_data_set(
    find, monkeypatch
):
    task, table = PAPERS["maud"].tasks["maud"], PAPERS["maud"].tables["table3"]
    tables = {name: table.model_copy(update={"of": name}) for name in "ab"}
    paper = PAPERS["maud"].model_copy(
        update={"tasks": {"a": task, "b": task}, "tables": tables}
    )
    monkeypatch.setitem(PAPERS, "maud", paper)
    with pytest.raises(
        BadInput,
        match=r"paper = 'maud' has several data sets .*; use one of a, b instead\.$",
    ):
        find(entry("run.csv", "maud"))
    assert list(find(entry("run.csv", "b"))[0].rows) == ["b"]


def test_predictions_for_papers_that_are_not_requested_are_ignored(find):
    found, _ = find(entry("none.json", "cuad"), asked=["acord"])
    assert (found.rows, found.places) == ({}, {})


def test_one_system_may_have_predictions_for_several_data_sets(find):
    found, _ = find(
        entry(),
        entry("nbest.json", "cuad"),
        entry("nbest.json", "maud"),
        entry("run.csv", "maud"),
    )
    assert sorted(found.rows) == ["acord", "cuad", "maud", "maud_extraction"]


NOT_A_MAPPING = (
    "config: extra_predictions.0 = 'run.txt' is not allowed "
    "(allowed: keys with values, such as {name: …, paper: …, file: …}); correct it"
)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            [{"name": "X", "paper": "acord"}],
            "config: extra_predictions.0.file is missing (allowed: a list",
        ),
        (
            [entry(file=[])],
            "config: extra_predictions.0.file = [] is not allowed (allowed: a list of at",
        ),
        (
            [entry(file=7)],
            "config: extra_predictions.0.file = 7 is not allowed (allowed: a list of at l",
        ),
        (
            [entry(form="trec")],
            "config: extra_predictions.0.form is not a known key (nearest: format)",
        ),
        (
            [entry(format="xml")],
            "config: extra_predictions.0.format = 'xml' is not allowed (allowed: 'tr",
        ),
        (
            [entry(name="a/b")],
            "config: extra_predictions.0.name = 'a/b' is not allowed (allowed: 1 to 60",
        ),
        (["run.txt"], NOT_A_MAPPING),
        (
            [entry(), entry(name="mine!", paper="cuad")],
            "config: the names 'Mine' and 'mine!' read alike",
        ),
    ],
)
def test_the_error_of_an_invalid_entry_names_its_key(values, sentence):
    with pytest.raises(BadInput) as error:
        load_config({"papers": ["acord"], "extra_predictions": values}, ALL, ROOT)
    assert str(error.value).startswith(sentence)


def test_a_users_model_and_predictions_must_have_different_names():
    model = {"name": "mine", "kind": "bi-encoder", "model": "org/m"}
    with pytest.raises(BadInput, match="the names 'mine' and 'Mine' read alike"):
        load_config(
            {
                "papers": ["acord"],
                "extra_models": [model],
                "extra_predictions": [entry()],
            },
            ALL,
            ROOT,
        )


# Rows


def plan(find, name, *entries):
    found, config = find(*entries, asked=[name])
    return paper_plan.plan(
        PAPERS[name], Context(config, MODELS, ROOT, False, found.rows)
    )


def shown(found, row):
    """Return the tables that show a row."""
    tables = set()
    for table, rows in found.rows.items():
        if row in [each["row"] for each in rows]:
            tables.add(table)
    return tables


def test_a_ranking_is_a_row_of_every_table_of_first_stage_retrieval(find):
    found = plan(find, "acord", entry())
    # Table D-4 lists it as a possible first stage, but does not display it, like all
    # retrievers without a reranker.
    assert shown(found, "Mine / None") == {"table3", "table_d3", "table_d4", "table_e2"}
    (row,) = [row for row in found.rows["table_d3"] if row["submitted"]]
    assert (row["additional"], row["trained"], row["baseline"], row["parameters"]) == (
        True,
        False,
        False,
        None,
    )
    assert row["runs"] == {"short": ["runs/acord/submitted/own-mine/short/seed0"]}
    assert row["reason"] == "the predictions are for the short form of the queries"


def test_each_file_is_the_run_of_one_seed(find):
    found = plan(find, "cuad", entry(["nbest.json", "other.json"], "cuad"))
    assert shown(found, "Mine") == {
        "table2",
        "figure3",
        "figure4",
        "figure5",
        "figure8",
    }
    runs = [run for run in found.specs if run.experiment == "submitted"]
    assert runs == [
        Run("cuad", "submitted", "own-mine", "100", seed) for seed in (0, 1)
    ]
    assert [sorted(found.specs[run].settings) for run in runs] == [
        ["content", "form"]
    ] * 2
    assert len({found.specs[run].settings["content"] for run in runs}) == 2


def test_probabilities_are_a_row_of_single_task_and_multi_task_tables(find):
    found = plan(
        find, "maud", entry("run.csv", "maud"), entry("nbest.json", "maud", "Spans")
    )
    both = {
        "table3",
        "table4",
        "table6",
        "table7",
        "table8",
        "figure2",
        "table_validation",
    }
    assert shown(found, "Mine") == both
    assert shown(found, "Spans") == {"table12"}
    assert [row["submitted"] for row in found.rows["table3"]].count(True) == 1


def test_a_run_is_identified_by_the_content_of_its_file(find):
    found = plan(find, "acord", entry())
    Path("run.txt").rename("moved.trec")
    assert plan(find, "acord", entry("moved.trec")).specs == found.specs
    Path("moved.trec").write_text("another")
    assert plan(find, "acord", entry("moved.trec")).specs != found.specs


def test_a_paper_without_scores_in_its_tables_rejects_predictions(tmp_path):
    tables = {
        name: table.model_copy(update={"of": None})
        for name, table in PAPERS["acord"].tables.items()
    }
    papers = PAPERS | {"acord": PAPERS["acord"].model_copy(update={"tables": tables})}
    config = load_config({"papers": ALL, "extra_predictions": [entry()]}, ALL, ROOT)
    with pytest.raises(
        BadInput, match="acord has no scores of predictions; remove the entry"
    ):
        submitted.find(config, papers, Contents(tmp_path))


# A subprocess, because the limit of memory holds for a whole process.
LIMITED = """
import gzip, hashlib, json, os, resource, sys
from pathlib import Path
from lextables.pipeline.errors import BadInput
from lextables.tasks import submitted
from lextables.tasks.job import Job

path, step = Path(sys.argv[1]), sys.argv[2]
content = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
os.environ[submitted.PLACES] = json.dumps({content: str(path)})
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
allowed = {"reading": 64 << 20, "checking": 512 << 20}[step]
resource.setrlimit(resource.RLIMIT_AS, (used + allowed, -1))
def predictions(file, *_):
    return [file.text] + [file.text * n for n in range(9, 99)]
job = Job(
    {"data": []},
    {"record": [f"{path.parent}/run.json"], "predictions": []},
    {"content": content, "form": "a"},
)
try:
    submitted.store(job, predictions, None)
except BadInput as error:
    print(error)
"""


@pytest.mark.parametrize("step", ["reading", "checking"])
def test_a_file_that_does_not_fit_into_memory_is_named(tmp_path, step):
    path = tmp_path / "rows.csv.gz"
    rows = "\n".join(map(str, range(4_000_000)))
    path.write_bytes(gzip.compress(rows.encode(), 1))
    command = [sys.executable, "-c", LIMITED, str(path), step]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == (
        "rows.csv.gz: does not fit into the memory of this job; "
        "leave out columns and rows that the format does not need.\n"
    )
