"""A job that cannot compute its row writes the reason instead of its outputs; so do
dependent jobs.
"""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from lextables.pipeline import locks, not_run
from lextables.pipeline.atomic import write_text
from lextables.pipeline.content import sha256_of
from lextables.pipeline.errors import BadInput, loading_weights
from lextables.pipeline.files import DOUBTED
from lextables.tables.inputs import rows_that_ran

RUN = "results/runs/acord/ask/gpt/short/seed0"
MADE = [f"{RUN}/predictions.parquet", f"{RUN}/run.json"]
WHY = "the server refuses the key (status 401: no); set OPENAI_API_KEY"


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(body, output, given=()):
    """Run ``body`` as the script of a rule with these files."""
    script = f"""
from types import SimpleNamespace
from lextables.pipeline.errors import BadInput, BadSetting
from lextables.pipeline.job import job
snakemake = SimpleNamespace(input={list(map(str, given))!r}, output={list(output)!r})
with job("log.txt"):
{textwrap.indent(textwrap.dedent(body), "    ")}
"""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_a_job_of_a_row_writes_the_reason_instead_of_its_outputs():
    done = run(f"raise BadInput({WHY!r})", [*MADE, f"{RUN}/weights"])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f".: not run: {WHY}.\n"
    assert Path("log.txt").read_text().splitlines()[-1].endswith(f"not run: {WHY}.")
    assert [not_run.reason(path) for path in [*MADE, f"{RUN}/weights"]] == [WHY] * 3
    assert Path(RUN, "weights").is_dir()


def test_dependent_jobs_do_not_run_for_the_same_reason():
    not_run.leave([*MADE, f"{RUN}/weights"], WHY)
    scores = [f"{RUN}/scores.parquet", f"{RUN}/units.parquet"]
    for given in (*MADE, f"{RUN}/weights"):
        done = run("print('worked')", scores, [given])
        assert (done.returncode, done.stdout) == (0, "")
        assert [not_run.reason(path) for path in scores] == [WHY] * 2


@pytest.mark.parametrize(
    "output",
    [
        "results/data/acord/queries.parquet",
        f"{MADE[0]} results/data/acord/queries.parquet",
        "results/runs/acord/submitted/own-mine/short/seed0/predictions.parquet",
    ],
)
def test_jobs_of_data_and_of_user_predictions_fail(output):
    done = run(f"raise BadInput({WHY!r})", output.split())
    assert (done.returncode, done.stderr) == (1, f"{WHY}.\n")
    assert not Path("results").exists()


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"a,b\n1,", b""])
def test_a_download_that_changed_since_it_was_fetched_is_not_read(content):
    file = Path("results/sources/cuad/a.csv")
    write_text(f"{file}.json", json.dumps({"digest": f"sha256:{sha256_of(__file__)}"}))
    file.write_bytes(Path(__file__).read_bytes())
    output = ["results/data/cuad/answers.parquet"]
    given = [file, f"{file}.json"]
    assert run("print('worked')", output, given).stdout == "worked\n"
    file.write_bytes(content)
    done = run("print('worked')", output, given)
    sentence = "the file changed after it was fetched; repeat the command, which fetches it again."
    assert (done.stdout, done.stderr) == ("", f"{file}: {sentence}\n")
    # By this mark the next run fetches it again.
    assert Path(f"{file}{DOUBTED}").is_file()


def test_a_job_whose_run_was_killed_fails(monkeypatch):
    monkeypatch.setenv(locks.RUN, json.dumps([str(Path("replaced.lock").absolute())]))
    done = run("print('worked')", MADE)
    assert (done.returncode, done.stdout) == (1, "")
    assert not Path(RUN).exists()


def test_an_unusable_setting_fails_the_job():
    done = run(
        "raise BadSetting('no GPU', where='config', do='set device to auto')", MADE
    )
    assert (done.returncode, done.stderr) == (
        1,
        "config: no GPU; set device to auto.\n",
    )
    assert not Path(RUN).exists()


def test_a_bug_in_the_code_fails_the_job():
    done = run("1 / 0", MADE)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert not Path(RUN).exists()


@pytest.mark.parametrize("code", ["ENOSPC", "EDQUOT"])
def test_a_full_disk_or_quota_fails_the_job(code):
    full = f"""
    import errno
    try:
        raise OSError(errno.{code}, 'No space left on device')
    except OSError as error:
        raise BadInput('x') from error
    """
    assert run(full, MADE).stderr == "x.\n"
    assert not Path(RUN).exists()


def test_a_table_job_runs_even_if_its_inputs_contain_a_reason():
    not_run.leave(MADE, WHY)
    done = run(
        "raise BadInput('no such table')", ["results/tables/acord/table3.csv"], MADE
    )
    assert done.stderr == "no such table.\n"


def test_a_reason_is_read_only_from_files_written_by_leave():
    longest = "😀" * not_run.LONGEST  # 12 bytes each
    not_run.leave(MADE, longest + "😀")
    assert not_run.reason(MADE[0]) == longest
    assert not_run.reasons("results") == [longest]
    other = Path("run.json")
    for content in ("", "{", '{\n  "not_run": "x"\n}', "PAR1"):
        other.write_text(content)
        assert not_run.reason(other) == ""
    assert not_run.reason("nowhere.json") == ""


def test_drop_deletes_files_with_a_reason_and_keeps_other_files():
    whole = Path("results/runs/acord/ask/other/short/seed0/run.json")
    whole.parent.mkdir(parents=True)
    whole.write_text("{}")
    features = "results/features/spans/cuad/roberta/1x1/train/features.json"
    not_run.leave([*MADE, f"{RUN}/weights", features], WHY)
    assert not_run.reasons("results") == [WHY]
    dropped = not_run.drop("results")
    assert dropped >= {
        RUN.removeprefix("results/"),
        "features/spans/cuad/roberta/1x1/train",
    }
    assert [path for path in Path("results").rglob("*") if path.is_file()] == [whole]
    assert not Path(RUN, "weights").exists()
    assert (not_run.drop("results"), not_run.reasons("results")) == (set(), [])


@pytest.mark.parametrize("moved", ["runs", "runs/acord"])
def test_reasons_in_a_folder_on_another_disk_are_deleted(moved, tmp_path):
    """A link stands for the folder that was moved there."""
    not_run.leave(MADE, WHY)
    disk = tmp_path / "disk"
    place = Path("results", moved)
    place.rename(disk)
    place.symlink_to(disk)
    assert not_run.reasons("results") == [WHY]
    assert RUN.removeprefix("results/") in not_run.drop("results")
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_a_table_shows_the_reason_and_the_conditions_that_ran():
    seeds = [f"runs/acord/train/bert/p100/seed{seed}" for seed in range(2)]
    small = "runs/acord/train/bert/p10/seed0"
    for folder in (seeds[0], small):
        Path("results", folder).mkdir(parents=True)
        Path("results", folder, "run.json").write_text("{}")
    not_run.leave([f"results/{seeds[1]}/run.json"], WHY)
    row = {"row": "BERT", "reason": "", "runs": {"100": seeds, "10": [small]}}
    other = {"row": "BM25", "reason": "no GPU", "runs": {"100": [small]}}
    assert rows_that_ran([row, other], Path("results")) == [
        row | {"reason": WHY, "runs": {"10": [small]}},
        other,
    ]


def test_a_table_shows_the_reason_of_a_run_that_was_not_scored():
    run = "runs/acord/retrieve/bm25/short/seed0"
    Path("results", run).mkdir(parents=True)
    Path("results", run, "run.json").write_text("{}")
    not_run.leave([f"results/{run}/scores.parquet"], WHY)
    row = {"row": "BM25", "reason": "", "runs": {"short": [run]}}
    expected = [row | {"reason": WHY, "runs": {}}]
    assert rows_that_ran([row], Path("results")) == expected


def test_loading_errors_become_bad_input_but_bugs_are_raised_unchanged():
    @loading_weights()
    def load(error):
        raise error

    with pytest.raises(
        BadInput,
        match=r"the weights do not load \(OSError: no file\); copy or fetch them",
    ):
        load(OSError("\n no file\nand more"))
    with pytest.raises(BadInput, match="torn"):
        load(BadInput("torn"))
    for bug in (AttributeError, TypeError, NameError, AssertionError):
        with pytest.raises(bug):
            load(bug("x"))


@pytest.mark.parametrize("lack", [MemoryError, torch.OutOfMemoryError])
def test_a_lack_of_memory_is_not_a_fault_of_the_weights(lack):
    with pytest.raises(lack), loading_weights():
        raise lack("x")
