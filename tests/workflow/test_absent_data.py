"""A release without optional data sets can be planned; requests for a missing one fail with the reason."""

import forked

PAIRS = ("anli", "contractnli", "control", "docnli")
ASK = (
    "docnli_data: docnli/DocNLI_dataset.zip must be downloaded manually: open "
    "https://drive.google.com/file/d/16TZBTZcb9laNKxIvgbs5nOBgq3MhND5s/view in a browser and download "
    "DocNLI_dataset.zip."
)


def planned(folder, *arguments):
    """A dry run of a release with an empty mirror."""
    (folder / "mirror").mkdir(exist_ok=True)
    config = (
        "papers=[lawngnli]",
        "data=release",
        f"mirror={folder / 'mirror'}",
        "models=available",
    )
    config += ("caselaw=us:1", "parser=dependencies")
    return forked.pipeline(folder, "-n", *arguments, "--config", *config)


def test_a_missing_optional_data_set_blocks_only_requests_for_it(tmp_path):
    run = planned(tmp_path, "data", "lawngnli_table2")
    assert run.code == 0, run.output[-3000:]
    assert not [name for name in PAIRS if f"{name}_data" in run.output]
    run = planned(tmp_path, "docnli_data")
    assert run.code != 0
    assert run.output.splitlines()[-1] == ASK
