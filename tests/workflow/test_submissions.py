"""The check of submissions: rows in the leaderboard, and refused folders."""

import importlib.util

import pytest

from helpers import forked
from helpers.sample_data import write_data_set
from lextables import ROOT, load
from lextables.notebook.project import SampleWarning

_spec = importlib.util.spec_from_file_location("check", ROOT / "submissions/check.py")
check = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(check)

ENTRY = "name: My-System\npaper: acord\nfile: [hits.csv]\ntrained_on: []\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a submission, in the working folder."""
    write_data_set("acord", tmp_path / "read/results/data/acord")
    hits = load("acord", folder=tmp_path / "read")["judgements"]
    hits = hits.rename(columns={"clause_id": "document_id"})
    folder = tmp_path / "submissions"
    (folder / "mine").mkdir(parents=True)
    hits.to_csv(folder / "mine/hits.csv", index=False)
    (folder / "mine/submission.yaml").write_text(ENTRY)
    monkeypatch.chdir(tmp_path)
    return folder


def test_a_submission_is_scored_and_in_the_leaderboard(
    folder, tmp_path, monkeypatch, capsys
):
    def run(words):
        run = forked.snakemake(tmp_path, *words, project=None)
        print(run.output)
        return run.code

    monkeypatch.setattr(check, "run_snakemake", run)
    with pytest.warns(SampleWarning):
        code = check.main([str(folder), "--data", "sample"])
    output = capsys.readouterr().out
    assert code == 0, output
    shown = output[output.index("My-System on acord") :]
    assert "NDCG@10  paper 1.000000" in shown
    page = tmp_path / "results/sample/report/leaderboard.html"
    assert "My-System" in page.read_text(encoding="utf-8")


def test_a_folder_without_submissions_is_right(tmp_path, capsys):
    assert check.main([str(tmp_path)]) == 0
    assert "has no submissions" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        (ENTRY.replace("hits", "none"), "none.csv is no file of the folder; put it"),
        (ENTRY.replace("hits", "../else"), "../else.csv is no file of the folder"),
        (ENTRY.replace("hits", "linked"), "linked.csv is no file of the folder"),
        (ENTRY.replace("paper", "papers"), "papers"),
        (ENTRY.replace("hits", "large"), "large.csv has more than 25,000,000 bytes"),
        ("[", "row 2: not YAML"),
    ],
)
def test_a_wrong_submission_is_named(folder, monkeypatch, capsys, entry, sentence):
    monkeypatch.setattr(check, "run_snakemake", lambda words: pytest.fail("is run"))
    (folder / "mine/submission.yaml").write_text(entry)
    (folder / "else.csv").touch()
    (folder / "mine/linked.csv").symlink_to(folder / "else.csv")
    with (folder / "mine/large.csv").open("wb") as file:
        file.truncate(25_000_001)
    assert check.main([str(folder)]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and sentence in error
    assert "submission.yaml" in error


def test_a_failed_run_is_the_result_of_the_check(folder, monkeypatch):
    monkeypatch.setattr(check, "run_snakemake", lambda words: 3)
    assert check.main([str(folder)]) == 3
