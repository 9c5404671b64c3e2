"""Removal of the citations from a premise, and of paragraphs that have nothing else
(LawngNLI).
"""

import json
from pathlib import Path

import pytest

from lextables.papers.lawngnli.premises import citation_removal
from lextables.papers.lawngnli.premises.citation_removal import (
    _is_name,
    keeps_figures_of,
    remove_citations,
    removed_spans,
)

# Each case has a text and the expected result: invented sentences with real or invented
# citations.
GOLDEN = Path(__file__).parents[1] / "golden/citation_removal.jsonl"
CASES = [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_remove_citations(case):
    assert remove_citations(case["text"]) == case["left"]


PREMISE = (
    "The boards had levied 1,200 tolls. See Roe v. Wade, 410 U.S. 113, 153 (1973)."
)


@pytest.mark.parametrize(
    ("hypothesis", "is_covered"),
    [
        ("the board levied 1,200 tolls", True),
        ("the board levied tolls", True),
        ("the board levied 1,200, all due", True),
        ("the board levied 200 tolls", False),
        ("the board levied 5 tolls", False),
        ("the Act of 1978 bars 1,200 tolls", False),
        ("the decision of 1973 bars 1,200 tolls", False),
    ],
)
def test_every_figure_must_be_in_the_premise_and_not_only_in_its_citations(
    hypothesis: str, is_covered: bool
) -> None:
    assert keeps_figures_of(PREMISE, hypothesis) == is_covered


@pytest.mark.parametrize(
    ("hypothesis", "is_covered"),
    [("the levy is 1.5 percent", True), ("the levy is 5 percent", False)],
)
def test_a_decimal_is_one_figure(hypothesis: str, is_covered: bool) -> None:
    assert keeps_figures_of("The levy is 1.5 percent.", hypothesis) == is_covered


def test_citations_are_removed_once_from_a_premise(monkeypatch):
    texts = []

    def removing(text):
        texts.append(text)
        return text

    monkeypatch.setattr(citation_removal, "remove_citations", removing)
    premise = "Tolls of 7 and 8 dollars are due."
    for hypothesis in ("a toll of 7 dollars", "a toll of 8 dollars", "a toll"):
        assert keeps_figures_of(premise, hypothesis)
    assert texts == [premise]


def test_paragraphs_with_only_citations_are_removed():
    text = "It is so.\nId. at 113.\n\nIn Poe v. Hill, 426 U.S. 229 (1976), it was said:"
    assert remove_citations(text) == "It is so.\n\nIn Poe v. Hill, it was said:"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_spans_are_sorted_separate_and_inside_the_text(case):
    text = case["text"]
    spans = removed_spans(text)
    flat = [at for span in spans for at in span]
    assert flat == sorted(set(flat))
    assert all(0 <= at <= len(text) for at in flat)
    kept, at = "", 0
    for start, end in [*spans, (len(text), len(text))]:
        kept = kept + text[at:start]
        at = end
    assert kept == case["left"]


@pytest.mark.parametrize(
    "text",
    [
        "See Roe v. Wade, 410 U.S. 113 (1973",
        "(((((((((( Id. at 5 ))))",
        "v. v. v. , 410 U.S. 113",
        "Id.",
        ", 410 U.S. 113,",
        "\x00\x07 410 U.S. 113 \ufeff",
        "See " * 200 + "410 U.S. 113.",
        "410 U.S. 113 (" + "a (b) " * 300,
    ],
)
def test_unusual_text_raises_no_error(text):
    shorter = remove_citations(text)
    letters = iter(text)
    assert all(
        character in letters for character in shorter
    )  # characters are only removed


@pytest.mark.parametrize(
    ("word", "is_name"),
    [
        ("Smith", True),
        ("(Smith", True),
        ("X", True),
        ("410", True),
        ("of", True),
        ("iPhone", False),
        ("court", False),
        ("held,", False),
    ],
)
def test_a_name_begins_with_a_capital_or_is_a_number_or_a_small_word(word, is_name):
    assert _is_name(word) is is_name
