"""`snakemake plan`, as a user says it: what would run, what stands, and that nothing is in its way."""

import csv
import resource

import pytest

from forked import Server

PRIVACY = ["--config", "papers=[privacy]"]


@pytest.fixture(scope="module")
def said():
    """What runs a command line in a folder: (its exit code, what it printed)."""
    server = Server()
    yield lambda folder, *words: server(folder, [*words], {})
    server.close()


def lines(folder, results="results/sample"):
    """{(paper, table): the line of the plan}."""
    with (folder / results / "plan/plan.csv").open(encoding="utf-8") as file:
        return {(row["paper"], row["table"]): row for row in csv.DictReader(file)}


def test_a_plan_goes_by_what_stands_and_starts_nothing(said, tmp_path):
    code, printed = said(tmp_path, "plan", *PRIVACY)
    assert code == 0 and "core hours" in printed, printed
    fresh = lines(tmp_path)
    whole, paper, rest = fresh["all", ""], fresh["privacy", ""], fresh["no table", ""]
    assert whole["finished"] == "0" and int(whole["jobs"]) == int(paper["jobs"]) + int(rest["jobs"]) > 20
    hours = [float(line["core_hours"]) for line in (paper, rest, whole)]
    assert hours[0] + hours[1] == pytest.approx(hours[2], rel=1e-4) and hours[2] > 0
    assert not (tmp_path / "results/sample/data").exists()

    # A table's jobs are those that its target runs, and what stands then is counted as standing.
    code, printed = said(tmp_path, "--cores", "2", "privacy_table1", *PRIVACY)
    assert (
        code == 0 and f"{int(fresh['privacy', 'table1']['jobs']) + 1} jobs to run" in printed
    )  # and the target
    code, printed = said(tmp_path, "plan", "privacy_table1", *PRIVACY)
    done = lines(tmp_path)
    assert code == 0 and [*done] == [("privacy", ""), ("privacy", "table1"), ("all", "")]
    assert {line["jobs"] for line in done.values()} == {"0"}
    assert done["all", ""]["finished"] == fresh["privacy", "table1"]["jobs"]

    # Half done, with another run's lock in the folder, and with no place to write it down.
    locks = tmp_path / ".snakemake/locks"
    locks.mkdir(parents=True, exist_ok=True)
    (locks / "0.output.lock").write_text("results/sample/report\n")
    for written in (tmp_path / "results/sample/plan").iterdir():
        written.unlink()
    (tmp_path / "results/sample/plan").rmdir()
    (tmp_path / "results/sample/plan").write_text("")
    code, printed = said(tmp_path, "plan", *PRIVACY)
    assert code == 0 and "Nothing is written" in printed
    standing = int(done["all", ""]["finished"])
    last = next(line for line in printed.splitlines() if line.startswith("all ")).split()
    assert [int(number) for number in last[1:3]] == [int(whole["jobs"]) - standing, standing]
    assert (locks / "0.output.lock").exists()


def test_without_a_profile_nothing_is_run_by_a_slip(said, tmp_path):
    code, printed = said(tmp_path, "--workflow-profile", "none", "--cores", "1", "plan", *PRIVACY)
    assert code != 0 and "say snakemake -n plan" in printed
    # Beside the record of which modules were read.
    assert [path.name for path in (tmp_path / "results/sample").iterdir()] == [".cache"]


def test_the_full_panel_is_planned_in_twenty_seconds_of_a_processor(said, tmp_path):
    config = ["--config", "data=release", "models=paper", "device=cuda"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    server = Server()
    code, printed = server(tmp_path, ["plan", *config], {})
    server.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert code == 0, printed
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 20
    whole = lines(tmp_path, "results")["all", ""]
    assert int(whole["jobs"]) > 1000
    assert int(whole["gpu_jobs"]) > 200 and int(whole["core_hours_unknown"]) > 0
    assert float(whole["download_bytes"]) > 1e10 and float(whole["dollars"]) == 0
    assert not (tmp_path / "results/data").exists()
