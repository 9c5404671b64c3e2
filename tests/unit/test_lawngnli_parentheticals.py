"""Parentheticals with the citations that they describe (LawngNLI, A.1.1).

``parentheticals.jsonl`` has paragraphs written for this test in the style of opinions,
each with the expected parentheticals: citation, case, pages, history flag, text.
"""

import json
import time
from collections import Counter
from pathlib import Path

import pytest
from eyecite.tokenizers import (
    EXTRACTORS,
    HyperscanTokenizer,
    Tokenizer,
    default_tokenizer,
)

from lextables.papers.lawngnli.citations.parentheses import LONGEST
from lextables.papers.lawngnli.citations.parentheticals import (
    Parenthetical,
    Parentheticals,
    read_parentheticals,
)

SAMPLE = Path(__file__).parents[1] / "golden/parentheticals.jsonl"
RECORDS = [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module", params=["hyperscan", "default"])
def tokens(request: pytest.FixtureRequest) -> Tokenizer:
    if request.param == "default":
        return default_tokenizer
    # Compile only patterns that the sample can match, because compiling all of them
    # takes 20 s.
    wanted = default_tokenizer.get_extractors(
        "\n".join(record["text"] for record in RECORDS)
    )
    return HyperscanTokenizer(
        extractors=[extractor for extractor in EXTRACTORS if extractor in wanted]
    )


def test_parentheticals_of_the_sample_are_as_expected(tokens: Tokenizer) -> None:
    """A failure lists additional (+) and missing (-) entries; if a change is intended,
    update the file.
    """
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
        changed += [
            f"{record['name']}: - {entry}" for entry in expected if entry not in entries
        ]
        changed += [
            f"{record['name']}: + {entry}" for entry in entries if entry not in expected
        ]
        if len(entries) != len(expected):
            changed.append(
                f"{record['name']}: {len(entries)} entries, expected {len(expected)}"
            )
    assert len(RECORDS) > 30
    assert not changed, "\n".join(changed)


def reading(text: str, **corpus: int) -> Parentheticals:
    return read_parentheticals(
        text, default_tokenizer, lambda key: corpus.get(key, key)
    )


def only(text: str) -> Parenthetical:
    (found,) = reading(text).parentheticals
    assert text[found.start + 1 : found.end - 1] == found.text
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
    parenthetical = only(f"Roe v. Wade, 410 U.S. 113 (1973). {text}.")
    assert (parenthetical.kind, list(parenthetical.pages), parenthetical.text) == (
        kind,
        pages,
        "A",
    )
    assert (parenthetical.resource, parenthetical.volume) == (
        "410 U.S. 113",
        "410 U.S.",
    )


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
        "Roe v. Wade, 410 U.S. 113 (1973) [Footnote 3]",
        "Roe v. Wade, 410 U.S. 113. (Holding A is another matter.)",
        "Roe v. Wade (1973) 410 U.S. 113, 115 [Footnote 2/3]",
        "Roe v. Wade (1973) 410 U.S. 113, 115 [93 S.Ct. 705]",
        "Roe v Wade, 410 US 113 [1973] [Footnote 3]",
        "Roe v. Wade, 410 U.S. 113 (1973). Id. at 115 [sic]",
        "Roe v. Wade, 410 U.S. 113 (1973) (1974)",
        "In Roe v. Wade, 410 U.S. 113, the plaintiff (Doe Co.) (the seller) sued.",
        "Roe v. Wade (1973) 410 U.S. 113 held that sellers (in offices) pay.",
        "Roe v Wade, 410 US 113 [1973], held that sellers [in offices] pay.",
        "Roe v. Wade, 410 U.S. 113 (1973) (per curiam (holding A",
        "See § 5; id., § 126(1).",
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


CASE = "Roe v. Wade, 410 U.S. 113, 152 (1973)"

CHAINS = {
    "(holding A)": ("holding A", ""),
    "(per curiam) (holding A)": ("holding A", "per curiam"),
    "(per curiam)(holding A)": ("holding A", "per curiam"),
    "(en banc), (holding A)": ("holding A", "en banc"),
    "(plurality opinion) (A) (emphasis added)": (
        "A",
        "plurality opinion; emphasis added",
    ),
    "(Brennan, J., dissenting) (A)": ("A", "Brennan, J., dissenting"),
    "(White, J., joined by Roe and Poe, JJ.) (A)": (
        "A",
        "White, J., joined by Roe and Poe, JJ.",
    ),
    "(opinion of Stevens, J.) (A)": ("A", "opinion of Stevens, J."),
    "(Marshall, C. J.) (A)": ("A", "Marshall, C. J."),
    "(Kozinski, J., concurring in part) (A)": ("A", "Kozinski, J., concurring in part"),
    "(mem.) (A)": ("A", "mem."),
    "(5-4) (A)": ("A", "5-4"),
    "(dictum) (A)": ("A", "dictum"),
    "(in chambers) (A)": ("A", "in chambers"),
    "(on rehearing) (A)": ("A", "on rehearing"),
    "(unpublished table decision) (A)": ("A", "unpublished table decision"),
    "(hereinafter Roe) (A)": ("A", "hereinafter Roe"),
    "(quoting Doe) (A)": ("A", "quoting Doe"),
    "(citation and internal quotation marks omitted) (A)": (
        "A",
        "citation and internal quotation marks omitted",
    ),
    "(alterations in original) (footnote omitted) (A)": (
        "A",
        "alterations in original; footnote omitted",
    ),
    "(remarks of Rep. Roe) (A)": ("A", "remarks of Rep. Roe"),
    "(Roe II) (holding A)": ("holding A", "Roe II"),
    '(Hand) ("A")': ('"A"', "Hand"),
    # The first of two that explain, as for eyecite and the paper.
    "(holding A) (noting B)": ("holding A", "noting B"),
    '("A") (noting B)': ('"A"', "noting B"),
    "(statute void for want of a hearing) (noting B)": (
        "statute void for want of a hearing",
        "noting B",
    ),
    "(A) (B)": ("A", "B"),
    "(holding that the plurality opinion binds) (A)": (
        "holding that the plurality opinion binds",
        "A",
    ),
    # Nothing explains.
    "(per curiam)": ("per curiam", ""),
    "(per curiam) (emphasis added)": ("per curiam", "emphasis added"),
    "(quoting Doe) (Roe, J.)": ("quoting Doe", "Roe, J."),
    # A later parenthesis does not follow.
    "(per curiam). The rule (as stated) is old": ("per curiam", ""),
    "(per curiam); Act (holding A)": ("per curiam", ""),
    "(A), where (B)": ("A", ""),
}


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize(
    "citation", [CASE, f"{CASE}. Id., at 152", f"{CASE}. Wade, supra"]
)
def test_the_explanatory_parenthetical_of_a_chain_is_read(
    citation: str, chain: str
) -> None:
    parenthetical = only(f"{citation} {chain}.")
    assert (parenthetical.text, parenthetical.others, parenthetical.resource) == (
        *CHAINS[chain],
        "410 U.S. 113",
    )


def test_a_flag_within_a_chain_is_no_history_and_one_after_it_is() -> None:
    assert not only(f"{CASE} (mem.) (holding A) (emphasis added).").history
    assert only(
        f"{CASE} (holding A) (emphasis added), cert. denied, 411 U.S. 5 (1974)."
    ).history


PINCITES = {
    "155": ["155"],
    "155 n.3": ["155"],
    "155 n. 3": ["155"],
    "155, n. 3": ["155"],
    "155 & n.3": ["155"],
    "155, and n. 3": ["155"],
    "155-56 and n. 3": ["155", "156"],
    "155–56 & nn.3–4": ["155", "156"],
    "155, nn. 3 and 4": ["155"],
    "155, 160 n.2": ["155", "160"],
    "155 n.3, 160": ["155", "160"],
    "155 note 3": ["155"],
    "155 fn. 3": ["155"],
    "155, fn 3": ["155"],
    "155, n. *": ["155"],
    "p. 155, fn. 3": ["155"],
    "155 ¶ 5": ["155"],
    "155 and 158": ["155", "158"],
    "*12": [],
    "*12 n.4": [],
    "¶ 5": [],
    "155a": [],
    "xii n.3": [],
    "155 et seq.": [],
}


@pytest.mark.parametrize("pincite", PINCITES)
@pytest.mark.parametrize(
    "citation",
    [
        "Roe v. Wade, 410 U.S. 113, {} (1973)",
        "Roe v. Wade, 410 U.S. 113, {}, 93 S. Ct. 705 (1973)",
        f"{CASE}. Id. at {{}}",
        f"{CASE}. Wade, supra, at {{}}",
    ],
)
def test_a_pincite_of_any_form_hides_no_parenthetical(
    citation: str, pincite: str
) -> None:
    parenthetical = only(f"{citation.format(pincite)} (holding A).")
    assert (parenthetical.text, list(parenthetical.pages)) == (
        "holding A",
        PINCITES[pincite],
    )


@pytest.mark.parametrize(
    "note", ["155 n.3", "155 & n.3", "155, 158-59 & nn.3-4", "155, and n. 3"]
)
def test_a_short_form_with_a_note_is_read(note: str) -> None:
    parenthetical = only(
        f"{CASE}. Later, Roe, 410 U.S. at {note} (per curiam) (holding A)."
    )
    assert (parenthetical.text, parenthetical.resource, parenthetical.pages[0]) == (
        "holding A",
        "410 U.S. 113",
        "155",
    )


def test_a_parallel_citation_is_no_pincite() -> None:
    parenthetical = only(
        "Doe v. Roe, 236 U.S. App. D.C. 1, 50, 671 F.2d 553, 556 (1982) (holding A)."
    )
    assert (parenthetical.pincite, parenthetical.pages) == ("50", ("50",))


STYLES = {
    "(Roe v. Wade (1973) 410 U.S. 113, 152 [93 S.Ct. 705, 35 L.Ed.2d 147] [holding A].)": "holding A",
    "Roe v. Wade (1973) 410 U.S. 113, 152 (holding A).": "holding A",
    "(Roe v. Wade (1973) 410 U.S. 113, 152, 93 S.Ct. 705, 726 [holding A].)": "holding A",
    "Roe v. Wade, 410 U.S. 113, 152, 93 S. Ct. 705, 726-727 (CA1) (holding A)": "holding A",
    "(Roe v. Wade (1973) 410 U.S. 113, 152 [rule [of law] bars it].)": "rule [of law] bars it",
    "(Roe v. Wade (9th Cir. 1973) 410 U.S. 113, 152, fn. 3 [per curiam] [holding A].)": "holding A",
    "Roe v Wade, 410 US 113, 152 [1973] [holding A]": "holding A",
    "Roe v Wade, 410 US 113, 152 [2d Dept 1973] [Doe, J., dissenting] [A (B)]": "A (B)",
    "[Roe v. Wade, 410 U.S. 113, 152 (1973)] (holding A)": "holding A",
    "Roe v. Wade, 410 U.S. 113, 152 (CA111998) (holding A)": "holding A",
    "Roe v. Wade, 410 U.S. 113, 152 (1973), (holding A)": "holding A",
    "Roe v. Wade, 410 U.S. 113, 152 (CA1) (holding A)": "holding A",
    "Roe v. Wade, 410 U.S. 113, 152 (La. App.) (holding A)": "holding A",
    "Roe v. Wade, 410 U.S. 113, 152 (No. 8,269) (D.Mass.1820) (Story, J.) (holding A)": "holding A",
}


@pytest.mark.parametrize("text", STYLES)
def test_styles_of_citing_are_read(text: str) -> None:
    parenthetical = only(text)
    assert (parenthetical.text, parenthetical.pages, parenthetical.resource) == (
        STYLES[text],
        ("152",),
        "410 U.S. 113",
    )


def test_a_short_form_in_the_style_of_california_is_read() -> None:
    assert only(f"({CASE}; id. at p. 152 [holding A].)").text == "holding A"


LISTS = [
    "1) an injury and 2) a remedy",
    "1.) an injury, 2.) a remedy, and 3.) a cause",
    "a) an injury; b) a (full) remedy",
    "A) an injury; B) a remedy",
    "i) an injury, ii) a remedy and iii) a cause",
    "2) the second and 3) the third factor",
    "1) an injury under § 4(a) and 2) a remedy under Rule 9",
    'the message ":)" was a threat',
    "the message :-( was a threat",
    "(a) an injury and (b) a remedy",
    "step 1) a and 2) b of Part 7",
]


@pytest.mark.parametrize("content", LISTS)
def test_marks_within_a_parenthetical_do_not_end_it(content: str) -> None:
    assert (
        only(f"{CASE} (holding {content}). Then (see Part 3) more.").text
        == f"holding {content}"
    )


@pytest.mark.parametrize(
    "content",
    [
        "Rule 9",
        "Art. I",
        "Exhibit A",
        "§ 1",
        "step 2",
        "Title X",
        "n. 3",
        "subsection (a)",
    ],
)
@pytest.mark.parametrize(
    "after", [" and others.", ".", " and (so) on.", ", 1) one and 2) two."]
)
def test_a_number_at_the_end_is_no_mark(content: str, after: str) -> None:
    found = reading(f"{CASE} (applying {content}){after}").parentheticals
    assert [p.text for p in found] == [f"applying {content}"]


BAD = {
    "unclosed": (
        "Roe v. Wade, 410 U.S. 113 (1973) (never (closed). Next sentence.",
        "it is never closed",
    ),
    "closed in another paragraph": (
        "Roe v. Wade, 410 U.S. 113 (1973) (a\nb)",
        "it is never closed",
    ),
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
    "unit",
    [
        "A",
        "A ",
        "A, ",
        "A.",
        "1",
        "(",
        "[",
        "5, ",
        "n. 5, ",
        "5 and ",
        "A v. B, 5 U.S. 1, ",
        "(a) ",
        "(Cal.) ",
        "(per curiam) ",
        "1) ",
        "a) ",
        ":) ",
        "5 F.2d 6, ",
        "opinion ",
    ],
)
@pytest.mark.parametrize(
    "start",
    ["410 U.S. 113", "410 U.S., at 113", "410 U.S. 113 (", "410 U.S. 113 (1973) ("],
)
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
    assert reading("") == Parentheticals((), (), (), Counter())


@pytest.mark.parametrize(
    "citation",
    [
        "Roe v. Wade, 410 U.S. 113",
        "Roe v. Wade, 410 U.S. 113, 115",
        "Roe v. Wade, 410 U.S. 113, 115, 93 S.Ct. 705, 707",
        "cert. denied, 410 U.S. 113",
    ],
)
@pytest.mark.parametrize(
    ("content", "is_read"),
    [
        ("holding A", True),
        ("expressly holding A", True),
        ('"[h]olding A"', True),
        ("the seller", False),
        ("Holding A is another matter.", False),
    ],
)
def test_a_participle_may_follow_an_undated_citation(
    citation: str, content: str, is_read: bool
) -> None:
    found = reading(f"{citation} ({content}).").parentheticals
    assert [p.text for p in found] == [content] * is_read
