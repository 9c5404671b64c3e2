"""`snakemake plan` from the command line: jobs to run, finished jobs, and that locks do
not block it.
"""

import csv
import shutil

import pytest

from helpers import forked

PRIVACY = ["--config", "papers=[privacy]"]


def run(folder, *words):
    return forked.snakemake(folder, *forked.OURS, *words)


def lines(folder, results="results/sample"):
    """{(paper, table): the line of the plan}."""
    with (folder / results / "plan/plan.csv").open(encoding="utf-8") as file:
        return {(row["paper"], row["table"]): row for row in csv.DictReader(file)}


def test_a_plan_counts_finished_jobs_and_starts_no_job(tmp_path):
    code, printed = run(tmp_path, "plan", *PRIVACY)
    assert code == 0 and "core hours" in printed, printed
    fresh = lines(tmp_path)
    everything = fresh["all", ""]
    paper = fresh["privacy", ""]
    rest = fresh["no table", ""]
    assert everything["finished"] == "0"
    number = int(everything["jobs"])
    assert number > 20
    assert number == int(paper["jobs"]) + int(rest["jobs"])
    hours = float(everything["core_hours"])
    of_parts = float(paper["core_hours"]) + float(rest["core_hours"])
    assert hours > 0
    assert of_parts == pytest.approx(hours, rel=1e-4)
    assert not (tmp_path / "results/sample/data").exists()

    # The plan counts the jobs that the target of a table runs; afterwards they count as
    # finished.
    code, printed = run(tmp_path, "--cores", "2", "privacy_table1", *PRIVACY)
    jobs = int(fresh["privacy", "table1"]["jobs"]) + 1  # and the target
    assert code == 0, printed
    assert f"{jobs} jobs to run" in printed
    code, printed = run(tmp_path, "plan", "privacy_table1", *PRIVACY)
    assert code == 0, printed
    done = lines(tmp_path)
    assert [*done] == [("privacy", ""), ("privacy", "table1"), ("all", "")]
    assert {line["jobs"] for line in done.values()} == {"0"}
    assert done["all", ""]["finished"] == fresh["privacy", "table1"]["jobs"]

    # Some jobs are finished, the folder has the lock of another run, and the plan
    # cannot be written.
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True, exist_ok=True)
    (locks / "0.output.lock").write_text("results/sample/report\n")
    plan = tmp_path / "results/sample/plan"
    shutil.rmtree(plan)
    plan.write_text("")
    code, printed = run(tmp_path, "plan", *PRIVACY)
    assert code == 0, printed
    assert "The plan is not saved" in printed
    finished = int(done["all", ""]["finished"])
    (last,) = [line for line in printed.splitlines() if line.startswith("all ")]
    _, to_run, already_finished, *_ = last.split()
    assert int(to_run) == number - finished
    assert int(already_finished) == finished
    assert (locks / "0.output.lock").exists()


def test_plan_without_the_profile_raises_an_error_and_runs_nothing(tmp_path):
    words = ("--workflow-profile", "none", "--cores", "1", "plan")
    code, printed = run(tmp_path, *words, *PRIVACY)
    assert code != 0
    assert "run snakemake -n plan" in printed
    # Only the cache of parsed modules and the locks may exist.
    names = {path.name for path in (tmp_path / "results/sample").iterdir()}
    assert names <= {".cache", ".lextables"}


def test_the_time_to_plan_all_models_is_limited_by_that_of_a_start(tmp_path):
    """Compared with the imports of a start, because processors differ."""
    run(tmp_path, "--version")
    server = forked.server(forked.ROOT)
    start, before = server.processor_seconds()
    config = ("data=release", "models=paper", "device=cuda")
    code, printed = run(tmp_path, "plan", "--config", *config)
    _, after = server.processor_seconds()
    assert code == 0, printed
    assert 0 < after - before < 4 * start
    total = lines(tmp_path, "results")["all", ""]
    assert int(total["jobs"]) > 1000
    assert int(total["gpu_jobs"]) > 200 and int(total["core_hours_unknown"]) > 0
    assert float(total["download_bytes"]) > 1e10
    assert not (tmp_path / "results/data").exists()
