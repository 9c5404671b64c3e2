"""LawngNLI, Appendix A.1.1: citations of sources other than cases that eyecite does not
know.

"Id." refers to the source cited last, whatever its kind.  eyecite knows cases,
statutes, sections and many law journals.  The others (the record, briefs, reports,
books, constitutions) are found here, so that "Id." after one of them is not taken for
the case before it.
"""

import re
from collections.abc import Sequence

from eyecite.models import SectionToken, UnknownCitation

from lextables.papers.lawngnli.citations.pincites import read_pincite
from lextables.papers.lawngnli.citations.resolution import LocatedCitation

_YEAR = r"(?:1[6-9]|20)\d\d(?:-\d+)?"
# A word of a title or a party: "for", "Petitioner", "(No."; and not a word with which
# sentences begin, such as "The".
_WORD = (
    r" (?:(?:a|al\.|and|as|by|et|for|from|in|of|on|the|to)(?= )"
    r"|(?!(?:As|At|But|Cf|He|Ibid|Id|If|In|It|On|See|She|That|The|There|They|This|We|When)\b)[A-Z(][\w.,'&)-]*)"
)
# A page, a number or a paragraph that a source is cited at, but not a year.
_PLACE = (
    r",? (?:at |[Nn]os?\. ?|pp?\. ?|[Pp]ar(?:as?|s|agraphs?)?\.? |¶{1,2} ?|ll?\. ?)?"
    rf"(?!{_YEAR}\b)(?:[A-Z]{{1,3}}-?)?\d"
)
# Parts of the record of a case.
_RECORD = (
    r"(?:(?:App|Aff|Affid|Ans|Br|Compl|Decl|Dep|Dkt|Doc|Exhs?|Exs?|Jt|Mem|Opp|Pet|Rec|Stip|Supp|Tr)\."
    r"|(?<!H\. )(?<!R\. )\bR\.|J\. ?A\.|D\. ?E\.|C\. ?T\.|R\. ?T\.|ECF|[PDG]X|Affidavit|Appendix|Brief"
    r"|Complaint|Declaration|Deposition|Docket|Exhibit|Petition|Record|Transcript)"
)
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"

SOURCES = {
    "record": rf"{_RECORD},?(?:{_WORD}){{0,12}}?{_PLACE}",
    "brief": r"(?:Brief|Pet\.|Petition) for (?:the )?[A-Z]\w+",
    "constitution": r"Const(?:\.|itution),? (?:[Aa]rt|[Aa]mdt|[Aa]mend|[Pp]mbl)\b",
    "congress": r"(?:Report|Print)\.?,? No\. ?\d|(?:Rep|Doc)\.,? (?:No\. ?)?\d|\d(?:st|nd|rd|d|th) Cong\."
    r"|Cong\. (?:Rec|Deb)|Globe,? \d|Cong\. Globe|Annals of Cong|Hearings? (?:on|[Bb]efore) ",
    "agency": r"Exec(?:\.|utive) Order (?:No\. ?)?\d|Rev\. (?:Rul|Proc)\. ?\d|Op\. ?Att(?:'?y|orney)"
    r"|Fed\. Reg\.|Treas\. Reg|Pub\. ?L\. ",
    "rule": r"Fed\. ?R(?:ules?|\.) ?(?:App|Bankr|Civ|Crim|Evid)",
    "restatement": r"Restatement (?:\([A-Z]\w+\) )?(?:of )?[A-Z]",
    "federalist": r"Federalist,? Nos?\. ?\d",
    "this case": r"(?:[Aa]nte|[Pp]ost|[Ii]nfra),? (?:at|nn?\.|pp?\.|[Pp]art) ?[\dIVX]",
    "unreported": r"v\. [A-Z](?:[\w.,'&-]| (?!v\. )){1,60}? Nos?\. ?\d|slip op\.,? (?:at|pp?\.) ",
    "volume and page": r"(?<![\w/])\d{1,3} (?:[A-Z][A-Za-z.']+ ){1,5}\*?\d+(?=[.,;)]|\s*$)",
    "newspaper": rf"{_MONTH} \d\d?, {_YEAR},? (?:at|col\.|pp?\.|sec\.|§)",
}
"""Patterns of a citation's text, by kind; a book or an article is known by its date
(`_DATE`).
"""

_SOURCE = re.compile(
    "|".join(rf"(?<![A-Za-z])(?:{pattern})" for pattern in SOURCES.values())
)
_DATE = re.compile(rf"\((?:[^()]{{0,80}}[ .,])?{_YEAR}\)")
# Before the date of a book, an article or an unknown reporter: a title and a page.
_NUMBER = r"(?:¶{1,2} ?|pp?\. ?|nn?\. ?|at )?\*?[A-Z]?-?\d[\w-]*(?:\.\d+)*"
_TITLE_AND_PAGE = re.compile(
    rf"[A-Z][\w.'&-]*,? (?:[Nn]os?\. ?|ch\. |art\. )?{_NUMBER}(?:,? (?:and |& )?{_NUMBER}){{0,4}},? ?$"
)
# What belongs to a full citation after its pincite: parallel citations and the date.
_DATED = re.compile(
    r"(?:, ?\d+ [A-Z][\w.' ]{0,24}?[ .]\d+(?:, ?\d[\d-]*){0,5}){0,5}"
    rf",? ?[(\[](?:[^()\[\]]{{0,80}}[ .,])?{_YEAR}[)\]]"
)


def with_other_sources(
    plain: str, citations: Sequence[LocatedCitation]
) -> list[LocatedCitation]:
    """Return ``citations`` together with citations of other sources, in the order of
    the opinion.

    The kind of the added citations is None.  ``plain`` is the opinion's text after
    `ascii_text`.  What overlaps one of ``citations``, its pincite or its date is not
    added.
    """
    others = []
    extents = sorted(_extent(plain, item) for item in citations)
    extents.append((len(plain), len(plain)))  # after every source
    number = 0  # of the first extent that does not end before the source
    for start, end in _sources(plain):
        while extents[number][1] <= start:
            number += 1
        if end <= extents[number][0]:
            others.append(_located(plain, start, end))
    return sorted([*citations, *others], key=lambda item: item.start)


def _extent(plain: str, item: LocatedCitation) -> tuple[int, int]:
    """Return where a citation starts, and where it ends with its pincite and date."""
    _, end = read_pincite(plain, item.pincite_start(plain), item.paragraph_end)
    dated = _DATED.match(plain, end, item.paragraph_end)
    if dated is not None:
        end = dated.end()
    return item.start, max(end, item.end)


def _sources(plain: str) -> list[tuple[int, int]]:
    """Return the start and end of each text that may cite another source, in order."""
    sources = [match.span() for match in _SOURCE.finditer(plain)]
    for date in _DATE.finditer(plain):
        before = _TITLE_AND_PAGE.search(plain, max(0, date.start() - 80), date.start())
        if before is not None:
            sources.append((before.start(), date.end()))
    return sorted(sources)


def _located(plain: str, start: int, end: int) -> LocatedCitation:
    """Return a source as an unknown citation of eyecite, to which "Id." can refer."""
    paragraph_start = plain.rfind("\n", 0, start) + 1
    paragraph_end = plain.find("\n", start)
    if paragraph_end < 0:
        paragraph_end = len(plain)
    token = SectionToken(
        plain[start:end], start - paragraph_start, end - paragraph_start
    )
    return LocatedCitation(UnknownCitation(token, 0), paragraph_start, paragraph_end)
