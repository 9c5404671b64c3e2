"""Citations in an opinion and the cases that they cite (LawngNLI, A.1.1)."""

import time
from collections import Counter

import pytest
from eyecite.tokenizers import default_tokenizer

from lextables.papers.lawngnli.citations.case_index import citation_key, reporter_name
from lextables.papers.lawngnli.citations.resolution import (
    ascii_text,
    find_citations,
    resolve,
    searchable,
)


def resolved(
    text: str, nested: set[str] = frozenset(), corpus: dict[str, int] | None = None
) -> list[tuple]:
    """Return (matched text, resource) for each citation of a case."""
    counts: Counter[str] = Counter()
    found = find_citations(text, default_tokenizer, counts)
    inside = [item.citation.matched_text() in nested for item in found]
    cited = resolve(text, found, inside, lambda key: (corpus or {}).get(key, key))
    assert [text[f.start :].startswith(f.citation.matched_text()) for f in found] == [
        True
    ] * len(found)
    return [
        (f.citation.matched_text().strip(", "), c.resource if c else None)
        for f, c in zip(found, cited, strict=True)
        if f.kind
    ]


@pytest.mark.parametrize(
    "text",
    [
        "“Curly” ‘quotes’, 410 U.S. 113–115 (CA9 1975) — §5 ¶6 Peña 1½ 中\u00a0x²",
        "Smith v. Jones, 5 F.2d 6, 7 (ED Pa. 1975), (1976) (N.D.Cal.1977) [1978] (CADC, May 5, 1979)",
        "plain",
        "",
    ],
)
def test_the_text_for_eyecite_has_the_same_length_as_the_original(text: str) -> None:
    assert len(ascii_text(text)) == len(searchable(text)) == len(text)
    assert ascii_text(text).replace("§", "").replace("¶", "").isascii()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5, 7 (CA9 1975) (x)", "5, 7,    [1975) (x)"),
        ("5 (1975).", "5 [1975)."),
        ("Doe v. Roe (1975) 5 Cal. 3d 1", "Doe v. Roe (1975) 5 Cal. 3d 1"),
        ("under the Act (of 1975)", "under the Act (of 1975)"),
        ("12–14, x² Peña", "12-14, x? Pena"),
    ],
)
def test_searchable(text: str, expected: str) -> None:
    assert searchable(text) == expected


@pytest.mark.parametrize(
    ("citation", "key"),
    [
        ("410 U.S. 113", "410 U.S. 113"),
        ("410 U. S. 113", "410 U.S. 113"),
        ("359 Ill. App. 3d 921", "359 Ill.App.3d 921"),
        ("12 Unheard of Rep. 5", "12 UnheardofRep. 5"),
        ("585 U.S. ___", None),
        ("No. 85-1", None),
    ],
)
def test_citation_key(citation: str, key: str | None) -> None:
    assert citation_key(citation) == key


def test_variations_of_a_reporter_have_one_name() -> None:
    assert reporter_name("U. S.") == reporter_name("U.S.") == "U.S."


def test_short_forms_are_resolved_across_paragraphs() -> None:
    text = (
        "See Roe v. Wade, 410 U.S. 113, 153 (1973).\n\nAnother paragraph.\n"
        "Wade, supra, at 154; 410 U.S., at 155. Id., at 156. 42 U.S.C. § 1983. Id., at 157."
    )
    assert resolved(text) == [
        ("410 U.S. 113", "410 U.S. 113"),
        ("supra", "410 U.S. 113"),
        ("410 U.S., at 155", "410 U.S. 113"),
        ("Id.", "410 U.S. 113"),
        ("Id.", None),
    ]


def test_parallel_citations_are_resolved_to_one_case() -> None:
    text = "Roe v. Wade, 410 U.S. 113, 153-154, n. 5, 93 S. Ct. 705, 727 (1973)."
    assert [case for _, case in resolved(text)] == ["410 U.S. 113"] * 2
    assert [case for _, case in resolved(text, corpus={"93 S.Ct. 705": 7})] == [7, 7]


@pytest.mark.parametrize(
    ("second", "resource"),
    [
        ("93 S. Ct. 705", "410 U.S. 113"),
        # A statute, an article and a case without a page have no key.
        ("42 U.S.C. § 1983", None),
        ("1 Minn. L. Rev. 1", None),
        ("93 S. Ct. ___", None),
    ],
)
def test_only_a_case_with_a_page_is_a_parallel_citation(
    second: str, resource: str | None
) -> None:
    text = f"Roe v. Wade, 410 U.S. 113, {second} (1973). Id., at 114."
    cases = [case for _, case in resolved(text)]
    assert cases[0] == "410 U.S. 113"
    # What follows refers to the second.
    assert cases[-1] == resource


def test_a_list_of_citations_is_not_parallel() -> None:
    text = "Roe v. Wade, 410 U.S. 113 (1973); Doe v. Poe, 93 S. Ct. 705 (1973); 410 U.S. 5, 410 U.S. 6."
    assert len({case for _, case in resolved(text)}) == 4


@pytest.mark.parametrize("gap", ["1" * 70, " 1" * 35, ", 1-1" * 14, "1," * 35])
def test_text_between_citations_is_processed_quickly(gap: str) -> None:
    begun = time.process_time()
    resolved(f"Roe v. Wade, 410 U.S. 113, {gap}x, 93 S. Ct. 705 (1973).")
    assert time.process_time() - begun < 2


def test_id_does_not_refer_to_a_citation_in_a_parenthetical() -> None:
    text = (
        "Roe v. Wade, 410 U.S. 113 (1973) (quoting Doe v. Poe, 405 U.S. 100, 120 (1972); id., at 121). "
        "Id., at 114."
    )
    assert resolved(text)[-1] == ("Id.", "405 U.S. 100")  # the result without `nested`
    cited = resolved(text, nested={"405 U.S. 100", "id.,"})
    assert cited[-2:] == [("id.", "405 U.S. 100"), ("Id.", "410 U.S. 113")]


@pytest.mark.parametrize(
    "supra", ["see supra, at 95", "ssee, supra, at 95", "Tenn, supra, at 95"]
)
def test_supra_requires_a_complete_name(supra: str) -> None:
    assert (
        resolved(f"Doe v. Tennessee, 400 U.S. 90 (1970). But {supra}.")[-1][1] is None
    )


def test_a_citation_without_a_page_is_not_resolved() -> None:
    assert resolved("Doe v. Roe, 585 U.S. ___ (2018).") == [("585 U.S. ___", None)]


def test_paragraphs_that_eyecite_fails_on_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(text: str) -> tuple:
        raise IndexError

    counts: Counter[str] = Counter()
    monkeypatch.setattr(default_tokenizer, "extract_tokens", broken)
    assert (
        find_citations(
            "One, 410 U.S. 113.\nNone here.\nTwo, 410 U.S. 114.",
            default_tokenizer,
            counts,
        )
        == []
    )
    assert counts == {"paragraphs that eyecite failed on": 2}
