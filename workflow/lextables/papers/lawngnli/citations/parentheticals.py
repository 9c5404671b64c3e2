"""LawngNLI, Appendix A.1.1: the parentheticals that follow citations, with the cases
and pages that they are about.

eyecite finds and resolves the citations.  Which parenthesis belongs to which citation
is decided here, because eyecite looks at 300 characters only: a longer parenthetical is
lost or cut at the last inner parenthesis, and a citation without a parenthetical may
get the parenthetical of a later citation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eyecite.tokenizers import Tokenizer

from lextables.papers.lawngnli.citations.other_sources import with_other_sources
from lextables.papers.lawngnli.citations.parentheses import (
    COURT,
    LONGEST,
    closing,
    explanatory,
    next_open,
)
from lextables.papers.lawngnli.citations.pincites import pages_of, read_pincite
from lextables.papers.lawngnli.citations.resolution import (
    Cited,
    LocatedCitation,
    Resolver,
    Resource,
    ascii_text,
    find_citations,
    resolve,
)

# Patterns of what stands around a citation; they are matched in the text after
# `ascii_text`.
_YEAR = r"(?:1[6-9]|2\d)\d\d(?:-\d\d)?"
# A year, alone or after a court, is the date of the citation: it does not describe the
# case.
_COURT_AND_YEAR = rf"(?:[A-Z0-9][\w.&']*,? )*(?:[A-Z][\w.&']*\.)?{_YEAR}"
# What stands between a citation with its pincite and the first parenthesis, ``open``:
# parallel citations, the number that the Federal Cases add, and the date.  Only with a
# date can other text stand there too.
_TEXT = r"(?P<between>[^()\[\];]{0,300}?)"
_PARALLEL = (
    r"(?P<between>(?:, ?\d+ [A-Z][\w.' ]{0,24}?[ .]\d+(?:, ?\d[\d-]*){0,5}){0,5})"
)
_DATED = rf"(?:[^()\[\]]{{0,80}}?(?:[ .A-Za-z]|CA\d\d?))?{_YEAR}"
# How a parenthesis begins that explains a citation without a date: "(holding that",
# '("[a]ccepting that'.
_PARTICIPLE = r"\((?:[a-z]+ly )?[\"'`]*\[?[a-z]\]?[a-z]+ing\b"
# {style of citation: pattern of the text after it}.  In the style of New York the date
# follows in square brackets; in the style of California it comes before the citation,
# and parallel citations are in square brackets.
_BEHIND = {
    "full": rf"{_TEXT}(?: ?\(No\. [\w,.-]+\))? ?\({_DATED}\)\]?,? ?(?P<open>\()",
    "full, New York": rf"{_TEXT} ?\[{_DATED}\] ?(?P<open>[(\[])",
    "full, undated": rf"{_PARALLEL} ?(?:\((?:{COURT})\) ?|(?={_PARTICIPLE}))(?P<open>\()",
    "full, California": rf"{_PARALLEL}(?: ?\[\d+ [A-Z][^\[\]]*\]){{0,5}},? ?(?P<open>\(|\[(?!\d+ [A-Z]))",
    "short": rf"(?P<between>\]?)(?: ?\({_COURT_AND_YEAR}\))?,? {{0,2}}(?P<open>\(|\[(?=[a-z]{{2,}}ing\b))",
}
_AFTER = {name: re.compile(pattern) for name, pattern in _BEHIND.items()}
_DATED_BEFORE = re.compile(rf"\((?:[^()]{{0,60}}[ .])?{_YEAR}\) ?$")
_NOT_PARENTHETICAL = re.compile(r"\[(?:Footnote|sic\b|Page )")
_DATE = re.compile(_COURT_AND_YEAR)
_ANOTHER_CASE = re.compile(r"\bv\. |\bIn re |\bEx parte |\bMatter of ")
# History flags: what became of the decision (A.1.2).
_HISTORY = (
    r"(?:\b(?:non)?acq\.|\baff'[dg]\b|\bcert\.|\bjuris\.|\bmem\.|\bprob\.|\breh'g\b|\brev'[dg]\b"
    r"|\baffirmed\b|\breversed\b|\bvacated\b|\bmodified\b|\boverruled\b|\bappeal dismissed\b)"
)
_HISTORY_WITHIN = re.compile(_HISTORY)
_HISTORY_BEFORE = re.compile(
    rf"{_HISTORY}(?: sub nom\.| per curiam| denied| granted| dismissed| noted| in part"
    r"| on other grounds)*,? $"
)
_HISTORY_AFTER = re.compile(rf"[,;]? ?(?:and )?{_HISTORY}")


@dataclass(frozen=True)
class Parenthetical:
    """A parenthetical and the citation that it is about."""

    start: int
    """Offset of the opening parenthesis in the opinion."""
    end: int
    """Offset after the closing one."""
    text: str
    """The text between, as printed."""
    citation: str
    """The citation as matched, without the name of the case and the pincite."""
    kind: str
    """The kind of the citation: full, short, id or supra."""
    pincite: str | None
    pages: tuple[str, ...]
    """The pages that the pincite names; empty if it cannot be resolved."""
    text_pages: tuple[str, ...]
    """The pages of these whose text is cited (`pincites.Pages`)."""
    resource: Resource | None
    """The case cited; None if it is not known."""
    volume: str
    """The volume whose pages the pincite counts (`case_index.volume_key`)."""
    history: bool
    """Whether the citation has a flag such as "cert. denied" or "aff'd" (A.1.2)."""
    others: str
    """The other parentheticals of the citation, joined by semicolons."""


@dataclass(frozen=True)
class Unread:
    """A parenthesis after a citation that was not read: its offset, and why."""

    start: int
    why: str


@dataclass(frozen=True)
class Parentheticals:
    """The parentheticals and citations of one opinion.

    ``cited`` has the resource of every resolved citation, with a parenthetical or not,
    in order of first citation.  ``counts`` has the citations by kind, and the failures
    and warnings of eyecite.
    """

    parentheticals: tuple[Parenthetical, ...]
    unread: tuple[Unread, ...]
    cited: tuple[Resource, ...]
    counts: Counter[str]


def read_parentheticals(
    text: str, tokens: Tokenizer, resource_of: Resolver = lambda key: key
) -> Parentheticals:
    """Return the parentheticals of an opinion, in its order, each with the case it is
    about (A.1.1).

    ``resource_of`` maps a `case_index.citation_key` to a case of the corpus, or to
    itself; by default a resource is the key of its first citation.  A parenthesis may
    follow several citations: it is about the case cited last before it, and of
    consecutive citations to that case the first counts, with its pincite, as in the
    paper.
    """
    counts: Counter[str] = Counter()
    citations = find_citations(text, tokens, counts)
    plain = ascii_text(text)
    citations = with_other_sources(plain, citations)
    counts.update(f"{item.kind} citations" for item in citations if item.kind)
    claims, chains, unread = _claims(plain, citations)
    # What "id." means depends on whether it is inside a parenthetical.
    spans: list[tuple[int, int]] = []
    for chain in chains.values():
        spans += chain.spans
    nested = _nested(citations, spans)
    cited = resolve(text, citations, nested, resource_of)
    read = []
    for start, claimants in sorted(claims.items()):
        read.append(
            _parenthetical(text, plain, citations, cited, claimants, chains[start])
        )
    read.sort(key=lambda parenthetical: parenthetical.start)
    # Each once, in order of first citation.
    resources = dict.fromkeys(
        case.resource
        for case, item in zip(cited, citations, strict=True)
        if case is not None and item.kind
    )
    return Parentheticals(tuple(read), tuple(unread), tuple(resources), counts)


@dataclass(frozen=True)
class _Claim:
    """A citation that a chain of parentheses may be about."""

    number: int
    """The citation's place among the citations of the opinion."""
    pincite: str | None
    pincite_end: int


@dataclass(frozen=True)
class _Chain:
    """Parentheses that follow each other: their spans, and the place of the explanatory
    one.
    """

    spans: tuple[tuple[int, int], ...]
    chosen: int


def _claims(
    plain: str, citations: Sequence[LocatedCitation]
) -> tuple[dict[int, list[_Claim]], dict[int, _Chain], list[Unread]]:
    """Return {start of a chain: the citations that it follows}, {start: the chain}, and
    the parentheses not read.
    """
    claims: dict[int, list[_Claim]] = {}
    chains: dict[int, _Chain | None] = {}
    unread: dict[int, Unread] = {}
    for number, item in enumerate(citations):
        if item.kind is None:
            continue
        pincite, pincite_end = read_pincite(
            plain, item.pincite_start(plain), item.paragraph_end
        )
        match = _first_parenthesis(plain, item, pincite_end)
        if match is None:
            continue
        start = match.start("open")
        if start not in chains:
            chains[start] = _chain(plain, start, match[0], item.paragraph_end, unread)
        if chains[start] is not None:
            claims.setdefault(start, []).append(_Claim(number, pincite, pincite_end))
    read = {start: chain for start, chain in chains.items() if chain is not None}
    return claims, read, [unread[start] for start in sorted(unread)]


def _first_parenthesis(
    plain: str, item: LocatedCitation, pincite_end: int
) -> re.Match[str] | None:
    """Return the match, from the pincite to the first parenthesis after it (`_BEHIND`);
    None if none follows.
    """
    date_start = max(item.paragraph_start, item.start - 80)
    if item.kind != "full":
        styles = ["short"]
    elif _DATED_BEFORE.search(plain, date_start, item.start):
        styles = ["full, California"]
    else:
        styles = ["full", "full, New York", "full, undated"]
    for style in styles:
        match = _AFTER[style].match(plain, pincite_end, item.paragraph_end)
        if match is None or _NOT_PARENTHETICAL.match(plain, match.start("open")):
            continue
        if _ANOTHER_CASE.search(match["between"]):
            break
        return match
    return None


def _chain(
    plain: str, first: int, before: str, limit: int, unread: dict[int, Unread]
) -> _Chain | None:
    """The chain that begins at ``first``; None if it has nothing but dates, or cannot
    be read.

    ``before`` is the text from the pincite to the first bracket of the chain, including
    this bracket.  Parentheses that cannot be read are added to ``unread``.
    """
    brackets = "("
    if before[-1] == "[":
        brackets = "(["
    spans: list[tuple[int, int]] = []
    start: int | None = first
    while start is not None:
        end = closing(plain, start, limit)
        if end is None:
            unread[start] = Unread(start, "it is never closed")
            break
        if end - start - 2 > LONGEST:
            why = f"it has {end - start - 2:,} characters, more than {LONGEST:,}"
            unread[start] = Unread(start, why)
            break
        if not _DATE.fullmatch(plain, start + 1, end - 1):
            spans.append((start, end))
        start = next_open(plain, end, limit, brackets)
    if not spans:
        return None
    return _Chain(
        tuple(spans), explanatory([plain[start + 1 : end - 1] for start, end in spans])
    )


def _nested(
    citations: Sequence[LocatedCitation], spans: Iterable[tuple[int, int]]
) -> list[bool]:
    """For each citation, whether it is inside a parenthesis, one of ``spans``."""
    events = sorted(spans)
    nested = []
    event = 0
    end = 0
    for number in sorted(
        range(len(citations)), key=lambda number: citations[number].start
    ):
        start = citations[number].start
        while event < len(events) and events[event][0] < start:
            end = max(end, events[event][1])
            event += 1
        nested.append((number, start < end))
    return [inside for _, inside in sorted(nested)]


def _parenthetical(
    text: str,
    plain: str,
    citations: Sequence[LocatedCitation],
    cited: Sequence[Cited | None],
    claims: list[_Claim],
    chain: _Chain,
) -> Parenthetical:
    """Return the parenthetical of ``chain``, and the case that ``claims`` say it is
    about.

    ``plain`` is the text in ASCII; ``cited`` has a case, or None, for each citation.
    """
    # Of the last citations, which are all to the same case, the first one counts.
    claim = claims[-1]
    case = cited[claim.number]
    for earlier in reversed(claims[:-1]):
        earlier_case = cited[earlier.number]
        if case is None or earlier_case is None:
            break
        if earlier_case.resource != case.resource:
            break
        claim = earlier
    item = citations[claim.number]
    case = cited[claim.number]
    resource = None
    volume = ""
    if case is not None:
        resource = case.resource
        volume = case.volume
    texts = [text[start + 1 : end - 1] for start, end in chain.spans]
    start, end = chain.spans[chain.chosen]
    others = texts[: chain.chosen] + texts[chain.chosen + 1 :]
    pages = pages_of(claim.pincite)
    return Parenthetical(
        start=start,
        end=end,
        text=texts[chain.chosen],
        citation=item.citation.matched_text().rstrip(", "),
        kind=item.kind or "",
        pincite=claim.pincite,
        pages=pages.named,
        text_pages=pages.text,
        resource=resource,
        volume=volume,
        history=_has_history(plain, item, chain.spans[0][0], chain.spans[-1][1]),
        others="; ".join(others),
    )


def _has_history(plain: str, item: LocatedCitation, start: int, end: int) -> bool:
    """Whether a history flag is before the citation, between it and its chain, or after
    the chain.

    This is the second filter of A.1.2.  The released code looks for eleven flags
    between two commas right before or after the citation.  Here flags also count
    between citation and parenthetical, and if they are written out ("affirmed").
    """
    if _HISTORY_WITHIN.search(plain, item.end, start):
        return True
    for place in (item.start, item.named):
        before = plain[max(item.paragraph_start, place - 60) : place]
        if _HISTORY_BEFORE.search(before):
            return True
    return _HISTORY_AFTER.match(plain, end) is not None
