"""Parentheticals and the citations they are about (LawngNLI, A.1.1)."""

import time

import pytest
from eyecite.tokenizers import default_tokenizer

from lextables.papers.lawngnli.parentheticals import (
    LONGEST,
    LONGEST_RANGE,
    Parenthetical,
    Reading,
    pages_of,
    read_parentheticals,
)


def reading(text: str, **corpus: int) -> Reading:
    return read_parentheticals(text, default_tokenizer, lambda key: corpus.get(key, key))


def only(text: str) -> Parenthetical:
    (found,) = reading(text).parentheticals
    assert text[found.start : found.end] == f"({found.text})"
    return found


@pytest.mark.parametrize(
    ("text", "citation", "pages", "words"),
    [
        (
            "See Roe v. Wade, 410 U.S. 113, 153 (1973) (holding that A). Next.",
            "410 U.S. 113",
            ["153"],
            "holding that A",
        ),
        (
            "Roe v. Wade, 410 U. S. 113, 153-54 (1973) (A (and B) C)",
            "410 U. S. 113",
            ["153", "154"],
            "A (and B) C",
        ),
        ("Doe v. Roe, 5 F.2d 6, 7 (CA9 1930) (“A”)", "5 F.2d 6", ["7"], "“A”"),
        ("Doe v. Roe, 5 F.2d 6, 7–8 (ND Cal. May 5, 1930) (A)", "5 F.2d 6", ["7", "8"], "A"),
        ("Doe v. Roe, 410 U.S. 113, 120, and n. 4 (1973) (A)", "410 U.S. 113", ["120"], "A"),
        ("Doe v. Roe, 410 U.S. 113, 120, 93 S. Ct. 705, 709 (1973) (A)", "410 U.S. 113", ["120"], "A"),
        ("Doe v. Roe, 6 F. Cas. 546, 551 (No. 3,230) (CCED Pa. 1823) (A)", "6 F. Cas. 546", ["551"], "A"),
        ("[Doe v. Roe, 410 U.S. 113, 120 (1973)] (A)", "410 U.S. 113", ["120"], "A"),
    ],
)
def test_full_citations(text: str, citation: str, pages: list[str], words: str) -> None:
    found = only(text)
    assert (found.citation, list(found.pages), found.text, found.kind) == (citation, pages, words, "full")


@pytest.mark.parametrize(
    ("text", "kind", "pages"),
    [
        ("410 U.S., at 154 (A)", "short", ["154"]),
        ("410 U. S., at 154-155, and n. 3 (A)", "short", ["154", "155"]),
        ("Id., at 154 (A)", "id", ["154"]),
        ("Ibid. (A)", "id", []),
        ("Wade, supra, at 154 (A)", "supra", ["154"]),
        ("Wade, supra (A)", "supra", []),
    ],
)
def test_short_forms(text: str, kind: str, pages: list[str]) -> None:
    found = only(f"Roe v. Wade, 410 U.S. 113 (1973). {text}.")
    assert (found.kind, list(found.pages), found.text) == (kind, pages, "A")
    assert (found.resource, found.volume) == ("410 U.S. 113", "410 U.S.")


@pytest.mark.parametrize(
    "text",
    [
        "Roe v. Wade, 410 U.S. 113 (1973).",
        "Doe v. Roe, 5 F.2d 6 (CA9 1930).",
        "Roe v. Wade, 410 U.S. 113 (1973). The rule (as stated) is old.",
        "Roe v. Wade, 410 U.S. 113. Id. (CA9 1975).",
        "42 U.S.C. § 1983 (1976) (A)",
        "The (unrelated) Act",
        "Roe, 410 U.S. 113, 115, and Poe v. Doe, No. 5 (1973) (A)",
    ],
)
def test_no_parenthetical(text: str) -> None:
    assert reading(text).parentheticals == ()


def test_a_parenthetical_longer_than_eyecite_looks() -> None:
    words = "holding that " + "a (very) long rule " * 60
    found = only(f"Roe v. Wade, 410 U.S. 113, 153 (1973) ({words})")
    assert found.text == words


def test_a_year_does_not_run_on_to_the_next_citation() -> None:
    text = "Roe v. Wade, 410 U.S. 113, 153 (1973) (A). See also Doe v. Poe, 5 F.2d 6, 7 (CA9 1930) (B)."
    assert [(p.citation, p.text) for p in reading(text).parentheticals] == [
        ("410 U.S. 113", "A"),
        ("5 F.2d 6", "B"),
    ]


def test_it_is_about_the_citation_just_before_it() -> None:
    found = only("Roe v. Wade, 410 U.S. 113, 115, quoting Doe v. Poe, 405 U.S. 100, 120 (1972) (A)")
    assert (found.citation, found.pages) == ("405 U.S. 100", ("120",))


def test_of_consecutive_citations_to_a_case_the_first_counts_once() -> None:
    found = only("Roe v. Wade, 410 U.S. 113, 153, 93 S. Ct. 705, 727, 35 L. Ed. 2d 147, 176 (1973) (A)")
    assert (found.citation, found.pages, found.volume) == ("410 U.S. 113", ("153",), "410 U.S.")


def test_first_citation_without_a_pincite_has_no_pages() -> None:
    found = only("Roe v. Wade, 410 U.S. 113, 93 S. Ct. 705, 727 (1973) (A)")
    assert (found.citation, found.pincite, found.pages) == ("410 U.S. 113", None, ())


@pytest.mark.parametrize(
    "text",
    [
        "Doe v. Poe, 400 U.S. 1 (1970), aff'd, 410 U.S. 113, 115 (1973) (A)",
        "Doe v. Poe, 5 F.2d 6 (CA9 1930), cert. denied, 410 U.S. 113 (1973) (A)",
        "Doe v. Poe, 410 U.S. 113, 115 (1973) (A), rev'd, 411 U.S. 5 (1974)",
        "Doe v. Poe, 410 U.S. 113, 115 (1973) (A), cert. denied, 411 U.S. 5 (1974)",
        "Doe v. Poe, 410 U.S. 113, 115, reh’g denied, 410 U.S. 959 (1973) (A)",
        "Doe v. Poe, 5 F.2d 6 (CA9 1930), aff'd sub nom. Doe v. Roe, 410 U.S. 113 (1973) (A)",
    ],
)
def test_history_flags(text: str) -> None:
    assert only(text).history


@pytest.mark.parametrize(
    "text",
    [
        "The judgment was affirmed. Roe v. Wade, 410 U.S. 113, 115 (1973) (A). It was reversed.",
        "Roe v. Wade, 410 U.S. 113, 115 (1973) (A), is a certain member of the family",
        "The Court affirmed in Roe v. Wade, 410 U.S. 113, 115 (1973) (A)",
    ],
)
def test_no_history_flag(text: str) -> None:
    assert not only(text).history


def test_the_parenthetical_behind_it() -> None:
    assert (
        only("Roe v. Wade, 410 U.S. 113 (1973) (A) (Doe, J., dissenting)").following == "Doe, J., dissenting"
    )
    assert only("Roe v. Wade, 410 U.S. 113 (1973) (A), where").following == ""


BAD = {
    "unclosed": ("Roe v. Wade, 410 U.S. 113 (1973) (never (closed). Next sentence.", "it is never closed"),
    "closed in another paragraph": ("Roe v. Wade, 410 U.S. 113 (1973) (a\nb)", "it is never closed"),
    "ten thousand characters": (
        f"Roe v. Wade, 410 U.S. 113 (1973) ({'A' * 10_000})",
        f"it has 10,000 characters, more than {LONGEST:,}",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_parenthesis_is_named_and_the_rest_survives(name: str) -> None:
    text, why = BAD[name]
    read = reading(f"{text}\nDoe v. Poe, 405 U.S. 100, 120 (1972) (B).")
    assert [(text[u.start], u.why) for u in read.unread] == [("(", why)]
    assert [p.text for p in read.parentheticals] == ["B"]


@pytest.mark.parametrize(
    "unit", ["A", "A ", "A, ", "A.", "1", "(", "[", "5, ", "n. 5, ", "A v. B, 5 U.S. 1, "]
)
@pytest.mark.parametrize("start", ["410 U.S. 113", "410 U.S., at 113", "410 U.S. 113 (1973) ("])
def test_time_grows_with_the_text_alone(unit: str, start: str) -> None:
    begun = time.process_time()
    reading(f"Roe v. Wade, {start}, {unit * 300}!")
    assert time.process_time() - begun < 2


def test_control_characters_and_other_scripts() -> None:
    text = "Roe\x00 v. Wadé, 410 U.S. 113, 153 (1973) (holding\x07 “中文” ½)."
    assert only(text).text == "holding\x07 “中文” ½"


def test_every_resolved_citation_is_listed_once() -> None:
    text = "Roe v. Wade, 410 U.S. 113 (1973); Doe v. Poe, 405 U.S. 100 (1972); id., at 101. 42 U.S.C. § 1983."
    read = reading(text, **{"405 U.S. 100": 5})
    assert read.cited == ("410 U.S. 113", 5)
    assert read.counts["full citations"] == 2
    assert read.counts["id citations"] == 1


def test_empty_opinion() -> None:
    assert reading("") == Reading((), (), (), reading("").counts)


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
    # A page that only says where a footnote stands is not cited.
    "153, n. 5": [],
    "153 n. 5": [],
    "153 n.5": [],
    "at 153, n. *": [],
    "153, nn. 5-6": [],
    "153, nn. 5, 7": [],
    "153, note 5": [],
    "153, & n. 5": ["153"],
    "153, and n. 5": ["153"],
    "153-154, n. 5": ["153", "154"],
    "150, 153, n. 5": ["150"],
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
    f"1-{LONGEST_RANGE + 1}",
    "220219",
    "12345678901",
    "86-8790115759",
]


@pytest.mark.parametrize(("pincite", "pages"), [*PAGES.items(), *((name, []) for name in UNRESOLVABLE)])
def test_pages_of_a_pincite(pincite: str | None, pages: list[str]) -> None:
    assert list(pages_of(pincite)) == pages


def test_the_longest_range_of_pages() -> None:
    assert len(pages_of(f"1-{LONGEST_RANGE}")) == LONGEST_RANGE
