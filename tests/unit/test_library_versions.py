"""Runs made with other versions are named; they stay until they are asked for again."""

import pytest

from lextables.pipeline.library_versions import outdated, warning
from lextables.pipeline.run import recorded, versions

NOW = {"python": "3.11.7", "torch": "2.6.0", "numpy": "2.1.0"}


@pytest.fixture
def record(tmp_path):
    """What writes a record as a job does, with the record of a training in it, and returns where it is."""

    def write(name, libraries, **more):
        folder = tmp_path / name
        folder.mkdir()
        with recorded(folder, {"libraries": {"torch": "a setting"}}) as found:
            found |= {"libraries": libraries, "training": {"libraries": {"torch": "1.0"}}} | more
        return folder / "run.json"

    return write


def test_a_run_of_another_version_is_found_by_its_own_record(record, tmp_path):
    same = record("same", NOW)
    other = record("other", NOW | {"torch": "2.5.1"})
    gone = record("gone", NOW | {"faiss-cpu": "1.9"})
    fewer = record("fewer", {"python": "3.11.7"})
    assert outdated([same, other, gone, fewer, tmp_path / "none/run.json"], NOW) == {
        other: {"torch": "2.5.1"},
        gone: {"faiss-cpu": "1.9"},
    }


def test_what_a_job_records_now_is_of_these_versions(tmp_path):
    with recorded(tmp_path, {}):
        pass
    assert outdated([tmp_path / "run.json"], versions()) == {}
    assert outdated([tmp_path / "run.json"], versions() | {"torch": "0.1"}).keys() == {tmp_path / "run.json"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{\n  "libraries": {\n    "torch": ',
        '{\n  "libraries": {"torch"}\n}',
        '{"libraries": 3}',
        "\udcff",
    ],
)
def test_a_record_that_was_cut_short_is_left_out(tmp_path, text):
    (tmp_path / "run.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert outdated([tmp_path / "run.json"], NOW) == {}


def test_the_warning_names_versions_and_runs_and_what_makes_them_again(record, tmp_path):
    found = outdated([record(f"run{i}", NOW | {"torch": f"2.{i}"}) for i in range(5)], NOW)
    listed = tmp_path / ".cache/other.txt"
    said = warning(found, NOW, listed)
    runs = ", ".join(str(tmp_path / f"run{i}") for i in range(3))
    assert said == (
        f"Made with other library versions, and kept: {runs} and 2 more: "
        "torch 2.0 and 2.1 and 2.2 and 2.3 and 2.4 (now 2.6.0). "
        f"To make them again, add --forcerun $(cat {listed}) to the command."
    )
    assert listed.read_text().splitlines() == [str(tmp_path / f"run{i}/run.json") for i in range(5)]
    (tmp_path / "file").write_text("")
    assert "To make them again" in warning(found, NOW, tmp_path / "file/other.txt")
