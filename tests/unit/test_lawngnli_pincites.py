"""Pincites to pages (LawngNLI, A.1.1)."""

import pytest

from lextables.papers.lawngnli.parentheticals import LONGEST_RANGE, pages_of, read_pincite

PAGES = {
    "12": ["12"],
    "12-14": ["12", "13", "14"],
    "12–14": ["12", "13", "14"],
    "112-14": ["112", "113", "114"],
    "1098-102": ["1098", "1099", "1100", "1101", "1102"],
    "98-102": ["98", "99", "100", "101", "102"],
    "12, 15-16": ["12", "15", "16"],
    "15-16, 12, 15": ["12", "15", "16"],
    "at 23": ["23"],
    ", at 23": ["23"],
    "at 23-24, 30": ["23", "24", "30"],
    "p. 23": ["23"],
    "at p. 23": ["23"],
    "pp. 23-24": ["23", "24"],
    "9, 10, 100": ["9", "10", "100"],
    "219220": ["219", "220"],
    "10431044": ["1043", "1044"],
}

NOTES = {
    "153, n. 5": ([], ["5"]),
    "153 n. 5": ([], ["5"]),
    "153 n.5": ([], ["5"]),
    "at 153, n. *": ([], ["*"]),
    "153, nn. 5-6": ([], ["5-6"]),
    "153, nn. 5, 7": ([], ["5", "7"]),
    "153, note 5": ([], ["5"]),
    "153, & n. 5": (["153"], ["5"]),
    "153, and n. 5": (["153"], ["5"]),
    "153-154, n. 5": (["153", "154"], ["5"]),
    "150, 153, n. 5": (["150"], ["5"]),
}

UNRESOLVABLE = [
    "",
    "xii",
    "12a",
    "A-12",
    "¶ 12",
    "§ 12",
    "12:24-25",
    "*3",
    "153-112",
    "12-12345",
    f"1-{LONGEST_RANGE + 1}",
    "220219",
    "12345678901",
    "86-8790115759",
]


@pytest.mark.parametrize("pincite", PAGES)
def test_pages(pincite: str) -> None:
    read = read_pincite(pincite)
    assert read is not None
    assert (list(read.pages), read.notes) == (PAGES[pincite], ())
    assert list(pages_of(pincite)) == PAGES[pincite]


@pytest.mark.parametrize("pincite", NOTES)
def test_a_page_that_only_locates_a_footnote_is_not_cited(pincite: str) -> None:
    read = read_pincite(pincite)
    assert read is not None
    assert (list(read.pages), list(read.notes)) == NOTES[pincite]


@pytest.mark.parametrize("pincite", UNRESOLVABLE)
def test_unresolvable(pincite: str) -> None:
    assert pages_of(pincite) == ()


def test_longest_range() -> None:
    assert len(pages_of(f"1-{LONGEST_RANGE}")) == LONGEST_RANGE


def test_no_pincite() -> None:
    assert pages_of(None) == ()
