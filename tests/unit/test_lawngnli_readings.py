"""Blind readings: the sheet for the readers, and the file with their readings."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest

from lextables.papers.lawngnli.dataset.annotations import (
    drawn,
    load_readings,
    pair_name,
    sheet,
)
from lextables.papers.lawngnli.tables import READINGS
from lextables.pipeline.errors import BadInput

SHARES = {
    ("entail", True): 70,
    ("entail", False): 30,
    ("neutral", True): 99,
    ("contradict", False): 1,
}
ROWS = [
    {
        "example_id": f"{label}{n}",
        "is_twin": n % 2 == 0,
        "label": label,
        "negated": negated,
        "hypothesis": f"h{n}, {label}",
        "short_premise": "one\ntwo",
    }
    for (label, negated), size in SHARES.items()
    for n in range(size)
]


def strata(rows):
    return Counter((row["label"], row["negated"]) for row in rows)


def test_strata_are_drawn_in_proportion_to_their_size():
    found = drawn(ROWS, 0)
    assert len(found) == 100
    # Of 49.5 and 0.5, only the first stratum in alphabetical order is rounded up.
    assert strata(found) == {
        ("entail", True): 35,
        ("entail", False): 15,
        ("neutral", True): 49,
        ("contradict", False): 1,
    }


def test_the_draw_depends_only_on_names_and_the_seed():
    first = drawn(ROWS, 0)
    assert drawn(ROWS[::-1], 0) == first
    assert drawn(ROWS, 1) != first
    labels = [row["label"] for row in first]
    assert labels != sorted(labels), "the order would tell the labels"


def test_all_pairs_of_a_small_data_set_are_drawn():
    assert len(drawn(ROWS[:7], 0)) == 7
    assert drawn([], 0) == []


def test_the_sheet_hides_the_labels_and_names_the_data_set():
    rows = list(csv.DictReader(io.StringIO(sheet(ROWS[:2], "f" * 64))))
    assert not {"label", "negated"} & set(rows[0])
    assert rows[0] == {
        "data_set": "f" * 64,
        "pair": pair_name("h0, entail", "one\ntwo"),
        "example_id": "entail0",
        "is_twin": "true",
        "short_premise": "one\ntwo",
        "hypothesis": "h0, entail",
        "reader": "",
        "reading": "",
        "confidence": "",
        "note": "",
    }


def test_a_sheet_completed_by_two_readers_is_loaded(tmp_path: Path):
    path = tmp_path / "read.csv"
    head, *lines = sheet(ROWS[:1], "f" * 64).splitlines()
    empty = "\n".join(lines)
    filled = [
        empty.replace(",,,,", f",{who},neutral,{sure},")
        for who, sure in (("A", "high"), ("B", "low"))
    ]
    path.write_text("\n".join([head, *filled]) + "\n")
    first, second = load_readings(path)["f" * 64][pair_name("h0, entail", "one\ntwo")]
    assert (first.label, first.sure, second.label, second.sure) == (
        "neutral",
        True,
        "neutral",
        False,
    )


def test_a_pair_with_only_one_reading_raises_an_error(tmp_path: Path):
    path = tmp_path / "lawngnli.csv"
    path.write_text(
        "data_set,pair,reader,reading,confidence,note\nd,a,A,entail,high,\n"
    )
    with pytest.raises(
        BadInput,
        match=r"^lawngnli\.csv: pair a has not two readings of entail, neutral",
    ):
        load_readings(path)


def test_readings_without_a_data_set_column_raise_an_error(tmp_path: Path):
    path = tmp_path / "lawngnli.csv"
    path.write_text(
        "pair,reader,reading,confidence,note\na,A,entail,high,\na,B,entail,high,\n"
    )
    with pytest.raises(
        BadInput,
        match=r"^lawngnli\.csv: the column data_set is missing; take the rows of a",
    ):
        load_readings(path)


def test_the_stored_readings_are_of_a_hundred_pairs_of_one_data_set():
    ((data_set, pairs),) = load_readings(READINGS).items()
    assert len(data_set) == 64
    assert len(pairs) == 100
