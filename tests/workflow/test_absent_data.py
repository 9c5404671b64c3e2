"""A release without its optional data sets is planned; a request for an absent one says why it fails."""

import pytest

import forked

PAIRS = ("anli", "contractnli", "control", "docnli")
ASK = (
    "docnli_data: docnli/DocNLI_dataset.zip must be downloaded manually: open "
    "https://drive.google.com/file/d/16TZBTZcb9laNKxIvgbs5nOBgq3MhND5s/view in a browser and download "
    "DocNLI_dataset.zip."
)


@pytest.fixture
def planned(tmp_path):
    """A dry run of a release with these files in its mirror."""

    def run(*arguments, mirror=(), models="available"):
        for file in mirror:
            (tmp_path / "mirror" / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "mirror" / file).touch()
        (tmp_path / "mirror").mkdir(exist_ok=True)
        config = (
            "papers=[lawngnli]",
            "data=release",
            f"mirror={tmp_path / 'mirror'}",
            f"models={models}",
            "caselaw=us:1",
            "parser=dependencies",
        )
        return forked.pipeline(tmp_path, "-n", *arguments, "--config", *config)

    return run


def test_an_absent_data_set_stops_nothing_and_cannot_be_requested(planned):
    run = planned("data", "lawngnli_table2")
    assert run.code == 0, run.output[-3000:]
    assert not [name for name in PAIRS if f"{name}_data" in run.output]
    run = planned("docnli_data")
    assert run.code != 0
    assert run.output.splitlines()[-1] == ASK


def test_data_sets_of_the_mirror_are_read_and_a_full_rebuild_fetches_the_rest(planned):
    mirror = ["control/train.jsonl", "control/dev.jsonl", "control/test.jsonl", "docnli/DocNLI_dataset.zip"]
    run = planned("data", mirror=mirror)
    assert run.code == 0, run.output[-3000:]
    assert [name for name in PAIRS if f"{name}_data" in run.output] == ["control", "docnli"]
    run = planned("data", models="paper")
    assert run.code == 0, run.output[-3000:]
    assert [name for name in PAIRS if f"{name}_data" in run.output] == [*PAIRS]
