"""Pages and notes that a pincite names (LawngNLI, A.1.1)."""

import pytest

from lextables.papers.lawngnli.citations.pincites import Pages, pages_of

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
    "153 and 157": ["153", "157"],
    "153, ¶ 5": ["153"],
}
# The pages named by a pincite that names a note too.
NOTES = {
    "153, n. 5": ["153"],
    "153 n. 5": ["153"],
    "153 n.5": ["153"],
    "at 153, n. *": ["153"],
    "153, nn. 5-6": ["153"],
    "153, nn. 5, 7": ["153"],
    "153 nn. 5 and 7": ["153"],
    "153, note 5": ["153"],
    "153, fn. 5": ["153"],
    "150, 153, n. 5": ["150", "153"],
    "153 n.5, 157": ["153", "157"],
    "153, & n. 5": ["153"],
    "153 & nn.5-6": ["153"],
    "153, and n. 5": ["153"],
    "153-154, n. 5": ["153", "154"],
    "153, & n. 5, 157": ["153", "157"],
}
UNRESOLVABLE = [
    None,
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
    "1-151",
    "220219",
    "12345678901",
    "86-8790115759",
    "12, A-3",
    "12 et seq.",
    "12, passim",
    "12 nonsense",
    "12,, 13",
    "n. 5",
]


@pytest.mark.parametrize(
    ("pincite", "pages"), [*PAGES.items(), *((name, []) for name in UNRESOLVABLE)]
)
def test_pages_of_a_pincite(pincite: str | None, pages: list[str]) -> None:
    assert pages_of(pincite) == Pages(tuple(pages), tuple(pages))


@pytest.mark.parametrize("pincite", NOTES)
def test_a_pincite_with_a_note_cites_no_text_of_a_page(pincite: str) -> None:
    assert pages_of(pincite) == Pages(tuple(NOTES[pincite]), ())


def test_the_longest_range_of_pages_is_read() -> None:
    assert len(pages_of("1-150").text) == 150
