"""Parentheticals with the citations that they describe, and pages of pincites (LawngNLI, A.1.1).

``parentheticals.jsonl`` has paragraphs written for this test in the style of opinions, each with the expected
parentheticals: citation, case, pages, history flag, text.
"""

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from eyecite.tokenizers import EXTRACTORS, HyperscanTokenizer, Tokenizer, default_tokenizer

from lextables.papers.lawngnli.parentheticals import (
    LONGEST,
    Parenthetical,
    Reading,
    pages_of,
    read_parentheticals,
)

SAMPLE = Path(__file__).parents[1] / "golden/parentheticals.jsonl"
RECORDS = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module", params=["hyperscan", "default"])
def tokens(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "default":
        return default_tokenizer
    # Compile only patterns that the sample can match, because compiling all of them takes 20 s.
    wanted = default_tokenizer.get_extractors("\n".join(record["text"] for record in RECORDS))
    return HyperscanTokenizer(extractors=[extractor for extractor in EXTRACTORS if extractor in wanted])


def test_parentheticals_of_the_sample_are_as_expected(tokens: Tokenizer) -> None:
    """A failure lists additional (+) and missing (-) entries; if a change is intended, update the file."""
    changed = []
    for record in RECORDS:
        entries = [
            {
                "citation": p.citation,
                "case": p.resource,
                "pages": list(p.pages),
                "history": p.history,
                "parenthetical": p.text,
            }
            for p in read_parentheticals(record["text"], tokens).parentheticals
        ]
        expected = record["expected"]
        changed += [f"{record['name']}: - {entry}" for entry in expected if entry not in entries]
        changed += [f"{record['name']}: + {entry}" for entry in entries if entry not in expected]
        if len(entries) != len(expected):
            changed.append(f"{record['name']}: {len(entries)} entries, expected {len(expected)}")
    assert len(RECORDS) > 30
    assert not changed, "\n".join(changed)


def reading(text: str, **corpus: int) -> Reading:
    return read_parentheticals(text, default_tokenizer, lambda key: corpus.get(key, key))


def only(text: str) -> Parenthetical:
    (found,) = reading(text).parentheticals
    assert text[found.start : found.end] == f"({found.text})"
    return found


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
def test_short_forms_are_resolved(text: str, kind: str, pages: list[str]) -> None:
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
def test_other_parentheses_are_not_parentheticals(text: str) -> None:
    assert reading(text).parentheticals == ()


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
def test_citations_with_history_are_flagged(text: str) -> None:
    assert only(text).history


@pytest.mark.parametrize(
    "text",
    [
        "The judgment was affirmed. Roe v. Wade, 410 U.S. 113, 115 (1973) (A). It was reversed.",
        "Roe v. Wade, 410 U.S. 113, 115 (1973) (A), is a certain member of the family",
        "The Court affirmed in Roe v. Wade, 410 U.S. 113, 115 (1973) (A)",
    ],
)
def test_citations_without_history_are_not_flagged(text: str) -> None:
    assert not only(text).history


def test_the_following_parenthetical_is_returned() -> None:
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
def test_an_invalid_parenthesis_is_reported_and_the_rest_is_read(name: str) -> None:
    text, why = BAD[name]
    read = reading(f"{text}\nDoe v. Poe, 405 U.S. 100, 120 (1972) (B).")
    assert [(text[u.start], u.why) for u in read.unread] == [("(", why)]
    assert [p.text for p in read.parentheticals] == ["B"]


@pytest.mark.parametrize(
    "unit", ["A", "A ", "A, ", "A.", "1", "(", "[", "5, ", "n. 5, ", "A v. B, 5 U.S. 1, "]
)
@pytest.mark.parametrize("start", ["410 U.S. 113", "410 U.S., at 113", "410 U.S. 113 (1973) ("])
def test_repetitive_text_is_read_quickly(unit: str, start: str) -> None:
    begun = time.process_time()
    reading(f"Roe v. Wade, {start}, {unit * 300}!")
    assert time.process_time() - begun < 2


def test_control_characters_and_other_scripts_are_kept() -> None:
    text = "Roe\x00 v. Wadé, 410 U.S. 113, 153 (1973) (holding\x07 “中文” ½)."
    assert only(text).text == "holding\x07 “中文” ½"


def test_every_resolved_citation_is_listed_once() -> None:
    text = "Roe v. Wade, 410 U.S. 113 (1973); Doe v. Poe, 405 U.S. 100 (1972); id., at 101. 42 U.S.C. § 1983."
    read = reading(text, **{"405 U.S. 100": 5})
    assert read.cited == ("410 U.S. 113", 5)
    assert read.counts["full citations"] == 2
    assert read.counts["id citations"] == 1


def test_an_empty_opinion_has_no_parentheticals() -> None:
    assert reading("") == Reading((), (), (), Counter())


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
    # A page that only gives the location of a footnote is not cited.
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
    "1-151",
    "220219",
    "12345678901",
    "86-8790115759",
]


@pytest.mark.parametrize(("pincite", "pages"), [*PAGES.items(), *((name, []) for name in UNRESOLVABLE)])
def test_pages_of_a_pincite(pincite: str | None, pages: list[str]) -> None:
    assert list(pages_of(pincite)) == pages


def test_the_longest_range_of_pages_is_read() -> None:
    assert len(pages_of("1-150")) == 150
