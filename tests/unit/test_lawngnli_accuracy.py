"""Accuracy filters and hypotheses (LawngNLI, A.1.2)."""

from collections.abc import Callable

import pytest

from lextables.papers.lawngnli.citations.case_index import parties
from lextables.papers.lawngnli.hypotheses.accuracy import (
    hypothesis_of,
    metadata_keyword,
    more_metadata,
    normalised,
    points_outside,
    tokens_of,
    without_leading_verb,
)
from lextables.pipeline.errors import BadInput


@pytest.fixture(scope="module")
def pipeline() -> Callable:
    return tokens_of()


@pytest.mark.parametrize(
    "parenthetical",
    [
        "quoting Roe v. Wade, 410 U.S. 113 (1973)",
        "en banc",
        "citations omitted",
        "emphasis added",
        "Emphasis in original",
        "applying the rule to searches",
        "citing 42 U.S.C. § 1983",
        "O'Connor, J., concurring",
        "Marshall, J., dissenting",
        "majority view",
        "Roe, J., in chambers",
        "per curiam",
        "Per Curiam",
        "1975 Lexis 5",
        "opinion of Roe, J.",
        "same as Doe v. Roe",
        "5-4 decision",
        "[5] factors",
        "$5 fee is not a tax",
    ],
)
def test_metadata_keywords_are_detected(parenthetical: str) -> None:
    assert metadata_keyword(parenthetical)


@pytest.mark.parametrize(
    "parenthetical",
    [
        "holding that a search without a warrant is unlawful",
        "a tax of $5 is not excessive",
        "Congress may not do so",
    ],
)
def test_parentheticals_about_the_case_are_kept(parenthetical: str) -> None:
    assert not metadata_keyword(parenthetical)
    assert not more_metadata(parenthetical)


@pytest.mark.parametrize(
    "parenthetical",
    [
        "plurality",
        "Powell, J.",
        "hereinafter Roe",
        "some emphases added",
        "footnote 5",
        "alterations in original",
        "table",
        "Roe, C. J.",
    ],
)
def test_more_metadata_is_detected(parenthetical: str) -> None:
    assert more_metadata(parenthetical)
    assert not metadata_keyword(parenthetical)


@pytest.mark.parametrize(
    "parenthetical",
    [
        "the rule is footnoted",
        "a table of fees binds the clerk",
        "supplies were sold",
        "slipping on ice is a risk",
        "the memory of a witness is evidence",
        "internal rules bind no court",
        "J.P. Roe owes the rent",
        "certain claims are barred",
        "collecting taxes is lawful",
    ],
)
def test_words_like_metadata_are_no_metadata(parenthetical: str) -> None:
    assert not more_metadata(parenthetical)


@pytest.mark.parametrize(
    ("others", "dropped"),
    [
        ("Roe, J., dissenting", True),
        ("plurality", True),
        ("emphasis added", False),
        ("", False),
    ],
)
def test_another_parenthetical_about_a_separate_opinion_is_detected(
    others: str, dropped: bool
) -> None:
    assert more_metadata("arguing that A", others) is dropped


@pytest.mark.parametrize(
    ("parenthetical", "rest"),
    [
        ("holding that A is B", "A is B"),
        ("Noting that A is B", "A is B"),
        ("noting A that is B", "noting A that is B"),
        ("noting that A is B and that C is D", "A is B and C is D"),
        ("noting that A is B, and holding that C is D", "A is B, and C is D"),
        ("noting that A is B and denying that C is D", None),
        (
            "noting that the price and that of the buyer differ",
            "the price and that of the buyer differ",
        ),
        ("A, holding that B", "A, holding that B"),
        ("during that time A was B", "during that time A was B"),
        ("nothing that A said is B", "nothing that A said is B"),
        ("requiring that notice be given", "requiring that notice be given"),
        ("denying that A is B", None),
        ("rejecting that A is B", None),
        ("rejecting the claim that A is B", "rejecting the claim that A is B"),
    ],
)
def test_leading_verbs_are_removed_or_rejected(
    parenthetical: str, rest: str | None
) -> None:
    assert without_leading_verb(parenthetical) == rest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A court can't, won't and shan't", "A court cannot, will not and shall not"),
        (
            "It isn’t so; they'll say we've erred",
            "It is not so; they will say we have erred",
        ),
        ("Don't ask", "Do not ask"),
        ("he didn't and hadn't", "he did not and had not"),
        ("Let's see Id. at 5, Miss. law", "Let us see Id. at 5, Miss. law"),
        ("the State's and the parties' rights", "the State's and the parties' rights"),
        ("the State’s £5 fee — “a tax” § 5", "the State’s £5 fee — “a tax” § 5"),
        ("no favour or defence", "no favor or defense"),
        ("it  can not\n be", "it cannot be"),
        ("", ""),
    ],
)
def test_text_is_normalised(pipeline: Callable, text: str, expected: str) -> None:
    assert normalised(text, pipeline) == expected


@pytest.mark.parametrize(
    ("parenthetical", "hypothesis"),
    [
        ("holding that it didn't [Footnote 2/5] apply", "it did not apply"),
        ("assuming that it did", None),
    ],
)
def test_hypotheses_are_extracted_from_parentheticals(
    pipeline: Callable, parenthetical: str, hypothesis: str | None
) -> None:
    assert hypothesis_of(parenthetical, pipeline) == hypothesis


def test_a_missing_pipeline_raises_an_error() -> None:
    with pytest.raises(
        BadInput, match=r"no_such_pipeline: the spaCy pipeline cannot be loaded"
    ):
        tokens_of("no_such_pipeline")


@pytest.mark.parametrize(
    ("name", "sides"),
    [
        (
            "ROE, Plaintiff-Appellant, v. WADE et al., Defendants-Appellees",
            ("roe", "wade"),
        ),
        ("Roe vs. Wade", ("roe", "wade")),
        ("Roe against Wade", ("roe", "wade")),
        ("In re Gault", ("in re gault",)),
        ("Smith & Co., Petitioner v. Jones, Inc.", ("smith co", "jones inc")),
        ("", ()),
    ],
)
def test_parties_are_read_from_the_name_of_the_case(
    name: str, sides: tuple[str, ...]
) -> None:
    assert parties(name) == sides


@pytest.mark.parametrize(
    ("parenthetical", "rest"),
    [
        ("suggesting that a pilot might be liable", None),
        ("implying that the toll could be lawful", None),
        ("suggesting that the pilot is liable", "the pilot is liable"),
        ("holding that a pilot may sue", "a pilot may sue"),
        ("holding that the toll applied, but noting that it is low",
         "the toll applied, but it is low"),
        ("holding that the toll applied, and distinguishing the case of ferries", None),
        ("holding that boards may act by granting and denying licences",
         "boards may act by granting and denying licences"),
    ],
)  # fmt: skip
def test_weak_reports_and_further_reports(parenthetical: str, rest: str | None) -> None:
    assert without_leading_verb(parenthetical) == rest


@pytest.mark.parametrize(
    "hypothesis",
    [
        "some such individuals are exempt from the tax",
        "in such a case the fee is due",
        "no such judicially untested finding is enough",
        "same framework applies to tolls",
        "the same rule governs tolls",
        "regulation at issue is void",
        "this statute is a measure of safety",
        "ferries pay; such tolls are due",
        "Such tolls are due",
        "these tolls are due",
        "these courts may sit in June",
        "[T]hese tolls are due",
        "“This toll is due”",
        '"[s]uch tolls" are due',
        "‘same rule’ governs tolls",
        "’same rule’ governs tolls",
        "same rule as to ferries applies",
        "same result as well",
        "the same, under prior law",
        "such evidence shows that owners knew",
        "such persons are entitled as heirs",
        "[s]uch rules require that notice be given",
        "all such tolls are due as rent",
        "same lawful prompt notice as that of a sale is due",
        "same assets are taxed",
        "all such persons sue as heirs",
        "any such person sues as heir",
        "each such person sues as heir",
        "every such person sues as heir",
        "no such person sues as heir",
        "some such persons sue as heirs",
        "such assets serve as rent",
        "a ferry has such rights",
        "owners owe such sums now due as rent",
        "owners tax such assets",
        "tolls are due, and such small new fees and tolls are void",
        "ferries pay such tolls",
        "Ferries pay. Such tolls are due",
        "“such” tolls are due",
        '"same rule" governs tolls',
        "'same rule' governs tolls",
        "`same rule' governs tolls",
        "“ same rule” governs tolls",
        "tolls are public, and such tolls must be paid by such owners",
        "tolls are public, and such tolls bind such owners",
    ],
)
def test_hypotheses_that_point_outside_are_detected(hypothesis: str) -> None:
    assert points_outside(hypothesis)


@pytest.mark.parametrize(
    "hypothesis",
    [
        "this Court leaves the matter to lower courts",
        "courts must keep the records of tolls, and such records are public",
        "vessels such as ferries pay no toll",
        "those who sail pay a toll",
        "a ferry is taxed as such",
        "conditions such that no one can sail",
        "the fee is the same for ferries",
        "sameness of price is no proof",
        "that issue is moot",
        "a ferry as such pays no toll",
        "courts review findings, and such wholly untested new findings fail",
        "tolls are due, and such court-ordered tolls are public",
        "same-day service needs consent",
        "same notice as that of a sale is due",
        "same legal notice as that of a sale is due",
        "the same as a tax",
        "such relief as is just",
        "courts may grant such other relief as is just",
        "owners used such force that the ferry sank",
        "a deed in this form is good",
        "same fee as tolls is due",
        "same court-ordered notice as that of a sale is due",
        "such force that ferries sink is unlawful",
        "such stop-orders as are just",
        "courts grant such court-ordered relief as is just",
        "the court looks at issues of law",
    ],
)
def test_hypotheses_that_name_what_they_mean_are_kept(hypothesis: str) -> None:
    assert not points_outside(hypothesis)
