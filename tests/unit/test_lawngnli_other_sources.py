"""What "Id." refers to after a source that is no case, and numbers of notes before
names (LawngNLI, A.1.1).
"""

import time

import pytest
from eyecite.tokenizers import default_tokenizer

from lextables.papers.lawngnli.citations.other_sources import with_other_sources
from lextables.papers.lawngnli.citations.parentheticals import read_parentheticals

CASE = "Smith v. Jones, 480 U.S. 709, 715 (1987)"


def cited_cases(text: str) -> list[str | None]:
    """Return the case of each parenthetical."""
    reading = read_parentheticals(text, default_tokenizer)
    assert not reading.unread
    return [parenthetical.resource for parenthetical in reading.parentheticals]


@pytest.mark.parametrize(
    "source",
    [
        "App. 711",
        "The witness said so. App. 711-712",
        "(App. 711)",
        "2 App. 711",
        "App. to Pet. for Cert. A-12",
        "App. B to Pet. for Cert. 5a",
        "Joint Appendix 711",
        "J. A. 711",
        "J.A. 711",
        "Record 711",
        "3 Record, Exh. 12, p. 711",
        "R. 711",
        "Tr. 711",
        "4 Tr. 711",
        "(Tr. at 711)",
        "Tr. of Oral Arg. 12",
        "Transcript of Hearing 711",
        "Smith Dep. at 711",
        "Deposition of John Doe 711",
        "Plaintiff's Exhibit 12",
        "Ex. 12",
        "Exhs. 12-14",
        "PX 711",
        "ECF No. 12, at 711",
        "Dkt. No. 12",
        "Docket Entry No. 12",
        "Doc. 12-1",
        "D.E. 12",
        "Compl. ¶ 46",
        "Compl. Claim III, par. 46",
        "Complaint ¶¶ 46-48",
        "Doe Decl. ¶ 5",
        "Affidavit of John Doe ¶ 5",
        "Brief for Petitioner 710-712",
        "Brief for Respondents in No. 85-99, p. 712",
        "Brief for United States as Amicus Curiae 712, n. 5",
        "Reply Brief 7",
        "Brief for the Petitioner",
        "Pet. for Cert. 4",
        "Pet. for Cert.",
        "U. S. Const., Art. I",
        "U.S. Const. amend. XIV",
        "Ala. Const. art. 5",
        "H. R. Rep. No. 94-1476, p. 710 (1976)",
        "H.R. Rep. No. 94-1476, at 710",
        "S. Rep. No. 12, 94th Cong., 1st Sess., 710",
        "S. Doc. No. 12",
        "Hearings on S. 12 before the Committee",
        "Cong. Globe, 39th Cong., 1st Sess., 711",
        "120 Cong. Rec. 711 (1974)",
        "Globe 711",
        "H. R. Rep. 711",
        "2 Farrand 711",
        "3 Elliot's Debates 711",
        "3 Wigmore 711, n. 5",
        "Exec. Order No. 11246",
        "Rev. Rul. 80-12",
        "Op. Atty. Gen. 711",
        "45 Fed. Reg. 711",
        "42 U.S.C. § 1983",
        "Ala. Code § 5-711",
        "Act of June 5, 1934, ch. 12, 48 Stat. 711",
        "Fed. Rule Civ. Proc. 56(c)",
        "Fed. R. Evid. 711",
        "Restatement (Second) of Torts, p. 711",
        "Restatement of Contracts, Comment b",
        "The Federalist No. 78, p. 711 (C. Rossiter ed. 1961)",
        "See Roe, The Law of Leases, 12 Real Property Q. 700, 711 (1980)",
        "Roe, The Law of Leases, 12 Harv. L. Rev. 700, 711 (1980)",
        "2 J. Doe, Treatise on Contracts 710 (3d ed. 1970)",
        "J. Doe, Democracy 75-77, and n. 5 (1980)",
        "1 J. Bishop, Law of Criminal Procedure 50 (2d ed. 1872)",
        "Black's Law Dictionary 712 (4th ed. 1951)",
        "4 W. Blackstone, Commentaries *712 (1769)",
        "7 J. Moore, Federal Practice ¶ 56.12, p. 712 (2d ed. 1983)",
        "Doe v. Roe, No. 85-712 (CA9, Jan. 5, 1985)",
        "Doe v. Roe, No. 85-712",
        "Doe v. Roe, 712 Unheard 713 (1985)",
        "slip op., at 7",
        "N. Y. Times, Jan. 5, 1980, p. A7",
        "Ante, at 712",
        "See post, at 712",
        "Infra, n. 5",
    ],
)
@pytest.mark.parametrize(
    "form", [". Id., at 712 (A)", "; id. at 712 (A)", ". Ibid. (A)"]
)
def test_id_after_another_source_is_not_the_case_before(source: str, form: str) -> None:
    # "(A)" is the parenthetical: its case is None if "Id." is the other source.
    for text in (f"{source}{form}", f"{source}. Id., at 713. Id., at 714 (A)"):
        (case,) = cited_cases(f"{CASE}. {text}.")
        assert case is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " (per curiam)",
        " (citing App. 711)",
        " (quoting H. R. Rep. No. 94-1476, p. 710 (1976))",
        " (holding that 12 Doe, Contracts 710 (1970), is right)",
        ". The rule has three parts",
        ". In 1987, the Court of Appeals reversed",
        ". The appendix and the record have 711 pages",
        ". The brief was filed 12 days late",
        ". He filed a complaint in 1987",
        ". The Fourteenth Amendment forbids this",
        ". On Jan. 5, 1980, the witness left",
        ". The Act (1964) is clear",
        ". The exhibit is on page 12",
        ". On June 12 Congress passed 3 Acts",
        ". In 1987 the Court had 9 Justices",
        ". See Part III",
        ". The note is in Title 42",
        ". See R. v. Doe",
    ],
)
def test_id_after_other_text_is_the_case_before(text: str) -> None:
    *_, case = cited_cases(f"{CASE}{text}. Id., at 712 (A).")
    assert case == "480 U.S. 709"


@pytest.mark.parametrize(
    ("citation", "expected"),
    [
        ("480 U.S. 709, 715, n. 3 (CA9 1987)", "480 U.S. 709"),
        ("480 U.S. 709, 107 S. Ct. 1492, 94 L. Ed. 2d 714 (1987)", "480 U.S. 709"),
        ("480 U.S. 709 (Tex. Civ. App. 1987)", "480 U.S. 709"),
        ("480 U.S. 709, 715 (Fla. Dist. Ct. App. 1987)", "480 U.S. 709"),
        ("12 Cal. App. 709, 715 (1987)", "12 Cal.App. 709"),
        ("480 U.S. 709, 711 [1987]", "480 U.S. 709"),
        ("480 U.S. 709", "480 U.S. 709"),
    ],
)
def test_what_belongs_to_a_citation_is_no_other_source(
    citation: str, expected: str
) -> None:
    (case,) = cited_cases(f"Smith v. Jones, {citation}. Id., at 712 (A).")
    assert case == expected


@pytest.mark.parametrize("short_citation", ["Smith, supra, at 712", "480 U.S., at 712"])
def test_id_after_a_short_citation_of_the_case_is_the_case(short_citation: str) -> None:
    text = f"{CASE}. App. 711. {short_citation}. Id., at 713 (A)."
    assert cited_cases(text) == ["480 U.S. 709"]


def test_id_in_a_parenthetical_refers_to_a_source_there() -> None:
    assert cited_cases(
        f"{CASE} (quoting App. 711; id., at 712 (A)). Id., at 713 (B)."
    ) == ["480 U.S. 709", None, "480 U.S. 709"]


def test_another_source_in_the_paragraph_before_counts() -> None:
    assert cited_cases(f"{CASE}.\nApp. 711.\nId., at 712 (A).") == [None]


# Names that are reporters too (2 Johns., 5 Wheaton), and some that are not: a number
# before such a name could be read as a volume.
@pytest.mark.parametrize(
    "name", ["Phillips", "Taylor", "Johnson", "Gray", "Story", "Wheaton", "Smith"]
)
@pytest.mark.parametrize(
    "citation",
    ["415 F.3d at 1321 (A)", "415 F.3d, at 1321 (A)", "415 F.3d 1303 (2005) (A)"],
)
def test_a_number_of_a_note_before_a_name_changes_nothing(
    name: str, citation: str
) -> None:
    before = f"{name} v. Roe, 415 F.3d 1303 (2005)."
    assert cited_cases(f"{before} {name}, {citation}.") == ["415 F.3d 1303"]
    assert cited_cases(f"{before} 28 {name}, {citation}.") == ["415 F.3d 1303"]


def test_a_reporter_with_the_name_of_a_person_is_read() -> None:
    assert cited_cases("Doe v. Roe, 2 Johns. 415, 417 (1807) (A).") == ["2 Johns. 415"]
    assert cited_cases("Doe v. Roe, 5 Wall. 12, 15, 18 L. Ed. 34 (1867) (A).") == [
        "5 Wall. 12"
    ]


@pytest.mark.parametrize(
    "repeated",
    [
        "App. ",
        "App. A ",
        "Brief for A ",
        "(1980) ",
        "A 5, ",
        "Doe v. A ",
        "5 ",
        "No. 5 ",
        "Jan. 5, ",
        "(",
        "A, ",
        "1 A B C D ",
    ],
)
def test_the_time_grows_linearly_with_the_text(repeated: str) -> None:
    seconds = []
    for length in (20_000, 80_000):
        text = repeated * (length // len(repeated))
        begun = time.process_time()
        with_other_sources(text, [])
        seconds.append(time.process_time() - begun)
    assert seconds[1] < 10 * seconds[0] + 0.1
