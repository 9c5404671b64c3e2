"""A release without what its paper can do without: it is planned; who asks for what is absent is told why."""

from pathlib import Path

import pytest

import forked

ROOT = Path(__file__).parents[2]
PAIRS = ("anli", "contractnli", "control", "docnli")
ASK = (
    "docnli_data: docnli/DocNLI_dataset.zip must be downloaded manually: open "
    "https://drive.google.com/file/d/16TZBTZcb9laNKxIvgbs5nOBgq3MhND5s/view in a browser and download "
    "DocNLI_dataset.zip."
)


@pytest.fixture
def planned(tmp_path):
    """What a dry run of a release says, with these files in its mirror."""

    def run(*arguments, mirror=(), models="available"):
        for file in mirror:
            (tmp_path / "mirror" / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "mirror" / file).touch()
        (tmp_path / "mirror").mkdir(exist_ok=True)
        given = (
            "data=release",
            f"mirror={tmp_path / 'mirror'}",
            f"models={models}",
            "caselaw=us:1",
            "parser=dependencies",
        )
        words = ("--directory", tmp_path, "--cores", "2", *arguments, "--config", "papers=[lawngnli]", *given)
        return forked.snakemake(tmp_path, "--snakefile", ROOT / "Snakefile", "-n", *words)

    return run


def test_what_is_absent_stops_nothing_and_is_asked_for_in_vain(planned):
    run = planned("data", "lawngnli_table2")
    assert run.returncode == 0, run.stderr[-3000:]
    assert not [name for name in PAIRS if f"{name}_data" in run.stdout + run.stderr]
    run = planned("docnli_data")
    assert run.returncode != 0
    assert run.stderr.splitlines()[-1] == ASK


def test_what_a_mirror_has_is_read_and_a_full_rebuild_fetches_the_rest(planned):
    mirror = ["control/train.jsonl", "control/dev.jsonl", "control/test.jsonl", "docnli/DocNLI_dataset.zip"]
    run = planned("data", mirror=mirror)
    assert run.returncode == 0, run.stderr[-3000:]
    assert [name for name in PAIRS if f"{name}_data" in run.stdout + run.stderr] == ["control", "docnli"]
    run = planned("data", models="paper")
    assert run.returncode == 0, run.stderr[-3000:]
    assert [name for name in PAIRS if f"{name}_data" in run.stdout + run.stderr] == [*PAIRS]
