"""A release without what its paper can do without: it is planned; who asks for what is absent is told why."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAIRS = ("anli", "contractnli", "control", "docnli")
ASK = (
    "docnli_data: docnli/DocNLI_dataset.zip is fetched by hand: open "
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
        return subprocess.run(
            [
                *(sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "-n"),
                *("--directory", str(tmp_path), "--cores", "2", *arguments),
                *("--config", "papers=[lawngnli]", *given),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    return run


def test_what_is_absent_stops_nothing_and_is_asked_for_in_vain(planned):
    run = planned("data", "lawngnli_table2")
    assert run.returncode == 0, run.stdout[-3000:]
    assert not [name for name in PAIRS if f"{name}_data" in run.stdout]
    run = planned("docnli_data")
    assert run.returncode != 0
    assert run.stdout.splitlines()[-1] == ASK


def test_what_a_mirror_has_is_read_and_a_full_rebuild_fetches_the_rest(planned):
    mirror = ["control/train.jsonl", "control/dev.jsonl", "control/test.jsonl", "docnli/DocNLI_dataset.zip"]
    run = planned("data", mirror=mirror)
    assert run.returncode == 0, run.stdout[-3000:]
    assert [name for name in PAIRS if f"{name}_data" in run.stdout] == ["control", "docnli"]
    run = planned("data", models="paper")
    assert run.returncode == 0, run.stdout[-3000:]
    assert [name for name in PAIRS if f"{name}_data" in run.stdout] == [*PAIRS]
