"""How much of a hypothesis its premise contains (LawngNLI)."""

import csv
from collections import Counter

import pytest

from lextables import ROOT
from lextables.papers.lawngnli.dataset.support import content_lemmas, support

PREMISE = "The harbor boards had levied 1,200 tolls on smaller vessels."


@pytest.mark.parametrize(
    ("hypothesis", "share"),
    [
        ("harbor board levies tolls", 1.0),
        ("the board did not levy a toll", 1.0),
        ("small vessel may sail", 2 / 3),
        ("1,200 ferries", 0.5),
        ("12 ferries", 0.0),
        ("it is not", 1.0),
        ("", 1.0),
    ],
)
def test_support_is_the_share_of_content_words(hypothesis: str, share: float) -> None:
    assert support(hypothesis, content_lemmas(PREMISE)) == pytest.approx(share)


def test_nothing_supports_words_on_an_empty_page() -> None:
    assert support("the toll is due", content_lemmas("")) == 0.0


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
