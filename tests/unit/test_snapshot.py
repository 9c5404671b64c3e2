"""Differences between two snapshots of the sample's values."""

import pytest

from snapshot import PROCESSOR, differences

TABLE = "row,column,ours,runs,network\nBM25,Recall,0.5,r,\nMiniLM,Recall,0.7,s,yes\n"


@pytest.fixture
def compared(tmp_path):
    """Return a function that compares a snapshot with one that has other files or another processor."""

    def compare(files, processor="one"):
        for name, content, made_by in (
            ("stored", {"p.t.csv": TABLE, "p.u.csv": TABLE}, "one"),
            ("now", files, processor),
        ):
            (tmp_path / name).mkdir()
            for file, text in (content | {PROCESSOR: made_by}).items():
                (tmp_path / name / file).write_text(text, encoding="utf-8")
        return differences(tmp_path / "stored", tmp_path / "now")

    return compare


@pytest.mark.parametrize(
    ("table", "first"),
    [
        (
            TABLE.replace("0.5", "0.6"),
            "p.t | BM25 | Recall | ours: stored '0.5', now '0.6'",
        ),
        (
            TABLE.replace("0.7", ""),
            "p.t | MiniLM | Recall | ours: stored '0.7', now ''",
        ),
        (
            TABLE.replace(",r,\n", ",,\n"),
            "p.t | BM25 | Recall | runs: stored 'r', now ''",
        ),
        (
            TABLE.replace("BM25,Recall,0.5,r,\n", ""),
            "p.t | BM25 | Recall | column: stored 'Recall', now 'absent'",
        ),
        (
            f"{TABLE}New,Recall,,,\n",
            "p.t | New | Recall | column: stored 'absent', now 'Recall'",
        ),
        (
            TABLE.replace("runs", "run"),
            "p.t | BM25 | Recall | run: stored 'absent', now 'r'",
        ),
        (
            f"{TABLE}BM25,Recall,0.5,r,\n",
            "p.t | BM25 | Recall | repeated: stored 'absent', now 'yes'",
        ),
    ],
)
def test_a_changed_missing_or_additional_value_is_named(compared, table, first):
    assert first in compared({"p.t.csv": table, "p.u.csv": TABLE})


def test_a_missing_and_an_additional_table_are_named(compared):
    found = compared({"p.u.csv": TABLE, "p.v.csv": TABLE})
    assert {line.split(" | ")[0] for line in found} == {"p.t", "p.v"}


def test_numbers_of_networks_are_compared_only_on_the_same_processor(compared):
    changed = TABLE.replace("0.7", "0.8").replace("0.5", "0.6")
    found = compared({"p.t.csv": changed, "p.u.csv": TABLE}, "another")
    assert found == ["p.t | BM25 | Recall | ours: stored '0.5', now '0.6'"]


def test_a_missing_number_of_a_network_is_named_on_any_processor(compared):
    missing = TABLE.replace("0.7", "")
    assert len(compared({"p.t.csv": missing, "p.u.csv": TABLE}, "another")) == 1


def test_equal_snapshots_have_no_differences(compared):
    assert compared({"p.t.csv": TABLE, "p.u.csv": TABLE}) == []
