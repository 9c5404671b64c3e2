"""The counts of the blind readings on the page about LawngNLI are those of the
files.
"""

import csv
from collections import Counter

import pytest

from lextables import ROOT


def test_the_page_shows_the_readings() -> None:
    page = (ROOT / "docs/lawngnli.md").read_text("utf-8")
    path = ROOT / "resources/readings/lawngnli_labels.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    read: Counter[tuple[str, str]] = Counter()
    agreed: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    supported: Counter[str] = Counter()  # of Entail and Contradict
    for row in rows:
        kind = (row["sample"], row["difficulty_filters"])
        is_right = row["strict"] == "right"
        read[kind] += 1
        agreed[kind] += row["reading"] == row["label"]
        right[kind] += is_right
        if row["label"] != "neutral" and float(row["support"]) >= 0.7:
            supported["right" if is_right else "wrong"] += 1
    assert len(read) == 7
    for kind, count in read.items():
        assert f"{agreed[kind]} of {count}" in page
        assert f"{right[kind]} of {count}" in page
    total = supported["right"] + supported["wrong"]
    assert f"{supported['right']} of {total} are strictly right" in page
    for row in rows:
        if row["strict"] == "right":
            assert row["reading"] == row["label"]


@pytest.mark.parametrize("sample", ["changed rules", "last rules"])
def test_the_page_shows_a_reading_by_label(sample: str) -> None:
    page = (ROOT / "docs/lawngnli.md").read_text("utf-8")
    path = ROOT / "resources/readings/lawngnli_labels.csv"
    read: Counter[tuple[str, str]] = Counter()
    right: Counter[tuple[str, str]] = Counter()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["sample"] == sample:
                kind = (row["difficulty_filters"], row["label"])
                read[kind] += 1
                right[kind] += row["strict"] == "right"
    for filters in ("true", "false"):
        cells = []
        for label in ("entail", "neutral", "contradict"):
            kind = (filters, label)
            cells.append(f"{right[kind]} of {read[kind]}")
        assert " | ".join(cells) in page
