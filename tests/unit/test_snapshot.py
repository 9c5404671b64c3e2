"""Differences between two snapshots of the sample's values."""

from decimal import Decimal

import pytest

from helpers.snapshot import Value, compare, nearly_equal

TABLE = "row,column,ours,runs,decimals,trained\nBM25,Recall,0.5,r,1,\nMiniLM,Recall,70.5,s,1,yes\n"
PAIRS = (
    "measure,one,other,difference,p,trained\nRecall,MiniLM,BM25,12.3456,0.03125,yes\n"
)


@pytest.fixture
def compared(tmp_path):
    """Return a function that compares a snapshot with one that has other files."""

    def compare_with(files):
        stored = {"p.t.csv": TABLE, "p.u.csv": TABLE, "p.t.comparison.csv": PAIRS}
        for name, content in (("stored", stored), ("now", stored | files)):
            (tmp_path / name).mkdir()
            for file, text in content.items():
                if text:
                    (tmp_path / name / file).write_text(text, encoding="utf-8")
        return compare(tmp_path / "stored", tmp_path / "now")

    return compare_with


@pytest.mark.parametrize(
    ("table", "first"),
    [
        (
            TABLE.replace("0.5,r", "0.6,r"),
            "p.t | BM25 | Recall | ours: stored '0.5', now '0.6'",
        ),
        (
            TABLE.replace("70.5", ""),
            "p.t | MiniLM | Recall | ours: stored '70.5', now ''",
        ),
        (
            TABLE.replace("70.5", "70.7"),
            "p.t | MiniLM | Recall | ours: stored '70.5', now '70.7'",
        ),
        (
            TABLE.replace(",s,", ",z,"),
            "p.t | MiniLM | Recall | runs: stored 's', now 'z'",
        ),
        (
            TABLE.replace("s,1,yes", "s,2,yes"),
            "p.t | MiniLM | Recall | decimals: stored '1', now '2'",
        ),
        (
            TABLE.replace(",r,1,\n", ",,1,\n"),
            "p.t | BM25 | Recall | runs: stored 'r', now ''",
        ),
        (
            TABLE.replace("BM25,Recall,0.5,r,1,\n", ""),
            "p.t | BM25 | Recall | column: stored 'Recall', now 'absent'",
        ),
        (
            f"{TABLE}New,Recall,,,,\n",
            "p.t | New | Recall | column: stored 'absent', now 'Recall'",
        ),
        (
            TABLE.replace("runs", "run"),
            "p.t | BM25 | Recall | run: stored 'absent', now 'r'",
        ),
        (
            f"{TABLE}BM25,Recall,0.5,r,1,\n",
            "p.t | BM25 | Recall | repeated: stored 'absent', now 'yes'",
        ),
    ],
)
def test_a_changed_missing_or_additional_value_is_named(compared, table, first):
    assert first in compared({"p.t.csv": table}).differences


@pytest.mark.parametrize(
    ("old", "new"), [("12.3456", "12.36"), ("0.03125", "0.0625"), ("BM25,12", "b,12")]
)
def test_a_changed_comparison_of_trained_models_is_named(compared, old, new):
    assert compared({"p.t.comparison.csv": PAIRS.replace(old, new)}).differences


def test_a_missing_and_an_additional_table_are_named(compared):
    comparison = compared({"p.t.csv": "", "p.v.csv": TABLE})
    files = {line.split(" | ")[0] for line in comparison.differences}
    assert files == {"p.t", "p.v"}


def test_last_digits_of_trained_models_may_differ_and_are_counted(compared):
    files = {
        "p.t.csv": TABLE.replace("70.5", "70.6"),
        "p.t.comparison.csv": PAIRS.replace("12.3456", "12.3461"),
    }
    comparison = compared(files)
    assert comparison.differences == ()
    assert (comparison.numbers, comparison.with_tolerance) == (10, 4)
    assert comparison.rounded == 2
    assert str(comparison) == (
        "10 numbers compared, 4 of trained models with a tolerance of 0.0001 or one of the last digit shown; "
        "2 needed it, 0 values differ"
    )


@pytest.mark.parametrize(
    ("old", "new", "digit", "equal"),
    [
        ("70.5", "70.6", "0.1", True),
        ("70.5", "70.4", "0.1", True),
        ("70.5", "70.7", "0.1", False),
        ("70.5", "70.6", "0.01", False),
        ("0.1", "-0.1", "0.1", False),
        ("1.0", "0.9", "0", False),
        ("10000.0", "10001.0", "0", True),
        ("10000.0", "10001.1", "0", False),
        ("nan", "nan", "0.1", False),
        ("1", "", "1", False),
    ],
)
def test_numbers_are_nearly_equal_by_their_last_digit_or_their_size(
    old, new, digit, equal
):
    first, second = Value(old, Decimal(digit)), Value(new, Decimal(digit))
    assert nearly_equal(first, second) is equal
    assert nearly_equal(second, first) is equal
    assert not nearly_equal(Value(old), second)
    assert not nearly_equal(first, Value(new))


def test_equal_snapshots_have_no_differences(compared):
    comparison = compared({})
    assert (comparison.differences, comparison.rounded) == ((), 0)
