"""A release without optional data sets can be planned; mistakes.yaml has a request for
a missing one.
"""

from helpers import forked

PAIRS = ("anli", "contractnli", "control", "docnli")


def test_a_missing_optional_data_set_blocks_only_requests_for_it(tmp_path):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    data = ("data=release", f"mirror={mirror}", "models=available", "caselaw=us:1")
    config = ("papers=[lawngnli]", *data, "parser=dependencies")
    targets = ("data", "lawngnli_table2")
    run = forked.pipeline(tmp_path, "-n", *targets, "--config", *config)
    assert run.code == 0, run.output[-3000:]
    assert not [name for name in PAIRS if f"{name}_data" in run.output]
