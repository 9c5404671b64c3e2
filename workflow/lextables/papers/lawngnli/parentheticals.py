"""LawngNLI, Appendix A.1.1: the parentheticals that follow citations, with their cases and pages.

eyecite finds and resolves the citations.  Which parenthesis belongs to which citation is read here,
because eyecite looks at 300 characters only: a longer parenthetical is lost or cut at the last inner
parenthesis, and a citation without a parenthetical may be given that of a later one.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from eyecite.tokenizers import Tokenizer

from lextables.papers.lawngnli.citations import (
    Cited,
    LocatedCitation,
    Resolver,
    Resource,
    ascii_text,
    find_citations,
    resolve,
)

# A longer range is a misprint: eyecite too takes no opinion to be longer.
LONGEST_RANGE = 150

_LABEL = re.compile(r"^(?:at\b\s*)?(?:(?:pp?\.|pg\.?|pages?\b)\s*)?", re.IGNORECASE)
_NOTE = re.compile(r"(?:& ?|and )?(?:nn?\b\.?|fn?\b\.?|(?:foot)?notes?\b) ?(\d+(?:-\d+)?|\*+)", re.IGNORECASE)
_PAGES = re.compile(r"(\d+)(?:-(\d+))?")
_MORE_NOTES = re.compile(r"\d{1,2}(?:-\d{1,2})?")
_DASHES = str.maketrans("‐‑‒–—−", "------")

LONGEST = 2000
"""A parenthetical of more characters is not read: by then a parenthesis has been lost in print."""

_YEAR = r"(?:1[6-9]|2\d)\d\d(?:-\d\d)?"
# A court or a year alone is the date of the citation and does not describe the case.
_COURT_AND_YEAR = rf"(?:[A-Z0-9][\w.&']*,? )*(?:[A-Z][\w.&']*\.)?{_YEAR}"
# Between a full citation and the parenthesis of its parenthetical: pincites and parallel citations, the
# number that the Federal Cases add, then the court and the year.
_AFTER_FULL = re.compile(
    rf"(?P<between>[^()\[\];]{{0,300}}?)(?: ?\(No\. [\w,.-]+\))?"
    rf" ?[(\[](?:[^()\[\]]{{0,80}}?[ .])?{_YEAR}[)\]]\]? ?(?P<open>\()"
)
# After a short form, id. or supra with its pincite.
_AFTER_SHORT = re.compile(
    r"(?P<between>(?:,? (?:and|&) nn?\. ?\d+(?:[-, ]+\d+)*)?)"
    rf"(?: ?\({_COURT_AND_YEAR}\))?,? {{0,2}}(?P<open>\()"
)
_DATE = re.compile(_COURT_AND_YEAR)
_ANOTHER_CASE = re.compile(r"\bv\. |\bIn re |\bEx parte |\bMatter of ")
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


def pages_of(pincite: str | None) -> tuple[str, ...]:
    """Return the pages that a pincite names, ascending; empty if it cannot be resolved (A.1.1).

    Accepted are ``12``, ``12-14``, ``112-14``, ``12, 15-16``, ``at 23``, ``p. 23`` and footnotes
    (``153, n. 5``; ``153-154, and nn. 5-6``); the page of a footnote is not among
    the pages.  Not resolvable are pages with letters, sections, paragraphs, lines, star pages, and ranges
    that run backwards or past `LONGEST_RANGE` pages.
    """
    pages: set[int] = set()
    # In "155 n. 15" there is no comma between page and note.
    text = (pincite or "").translate(_DASHES)
    text = re.sub(r"(?<=\d)\s+(?=(?:&|and\b)? ?(?:nn?\.|fn?\.|notes?\b))", ", ", text)
    alone: int | None = None
    in_notes = False
    for part in filter(None, (_LABEL.sub("", piece.strip()).strip() for piece in text.split(","))):
        if _NOTE.fullmatch(part):
            if alone is not None and not in_notes and part[0] not in "&aA":
                pages.discard(alone)
            in_notes = True
        elif in_notes and _MORE_NOTES.fullmatch(part):
            continue
        elif matched := _PAGES.fullmatch(part):
            span = _range(*matched.groups())
            if span is None:
                return ()
            alone = span.start if len(span) == 1 else None
            pages.update(span)
        else:
            return ()
    return tuple(map(str, sorted(pages)))


def _range(first: str, last: str | None) -> range | None:
    if last is None and len(first) in (6, 8):
        # No volume has so many pages: the dash of "219-220" was lost in print.
        return _range(first[: len(first) // 2], first[len(first) // 2 :])
    if len(first) > 5:
        return None
    start = int(first)
    if last is None:
        return range(start, start + 1)
    if len(last) < len(first):
        last = first[: len(first) - len(last)] + last
    end = int(last)
    return range(start, end + 1) if start <= end < start + LONGEST_RANGE else None


@dataclass(frozen=True)
class Parenthetical:
    """A parenthetical and the citation it is about.

    ``start`` is the offset of the opening parenthesis in the opinion, ``end`` that after the closing
    one, ``text`` the text between, as printed.  ``pincite`` is as eyecite read it, ``pages`` what
    it names (empty if nothing resolvable).  ``resource`` is the case cited, None if that is not known,
    and ``volume`` the volume whose pages the pincite counts.  ``history`` says whether the citation
    has a flag such as "cert. denied" or "aff'd" (A.1.2).  ``following`` is the parenthetical directly
    after this one, or empty.
    """

    start: int
    end: int
    text: str
    citation: str
    kind: str
    pincite: str | None
    pages: tuple[str, ...]
    resource: Resource | None
    volume: str
    history: bool
    following: str


@dataclass(frozen=True)
class Unread:
    """A parenthesis after a citation that was not read: its offset, and why."""

    start: int
    why: str


@dataclass(frozen=True)
class Reading:
    """The parentheticals and citations of one opinion.

    ``cited`` has the resource of every resolved citation, with a parenthetical or not, in order of
    first citation.  ``counts`` has the citations by kind, and the failures and warnings of eyecite.
    """

    parentheticals: tuple[Parenthetical, ...]
    unread: tuple[Unread, ...]
    cited: tuple[Resource, ...]
    counts: Counter[str]


def read_parentheticals(text: str, tokens: Tokenizer, resource_of: Resolver = lambda key: key) -> Reading:
    """Return the parentheticals of an opinion, in its order, each with the case it is about (A.1.1).

    ``resource_of`` maps a `case_index.citation_key` to a case of the corpus, or to itself; by default
    a resource is the key of its first citation.  A parenthesis may follow several citations: it is
    about the case cited last before it, and of consecutive citations to that case the first counts,
    with its pincite, as in the paper.
    """
    counts: Counter[str] = Counter()
    citations = find_citations(text, tokens, counts)
    plain = ascii_text(text)
    counts.update(f"{item.kind} citations" for item in citations if item.kind)
    claims, spans, unread = _claims(plain, citations)
    nested = _nested(citations, spans)
    cited = resolve(text, citations, nested, resource_of)
    read = tuple(
        _parenthetical(text, plain, citations, cited, claimants, start, spans[start])
        for start, claimants in sorted(claims.items())
    )
    seen = dict.fromkeys(
        c.resource for c, f in zip(cited, citations, strict=True) if c is not None and f.kind
    )
    return Reading(read, tuple(unread), tuple(seen), counts)


def _claims(
    plain: str, citations: Sequence[LocatedCitation]
) -> tuple[dict[int, list[int]], dict[int, int], list[Unread]]:
    """Which citations each parenthesis follows, where it closes, and the parentheses not read."""
    claims: dict[int, list[int]] = {}
    spans: dict[int, int] = {}
    unread: dict[int, Unread] = {}
    for number, item in enumerate(citations):
        if item.kind is None:
            continue
        after = _AFTER_FULL if item.kind == "full" else _AFTER_SHORT
        match = after.match(plain, item.end, item.paragraph_end)
        if match is None or _ANOTHER_CASE.search(match["between"]):
            continue
        start = match.start("open")
        if start not in spans:
            end = _closing(plain, start, item.paragraph_end)
            if end is None:
                unread[start] = Unread(start, "it is never closed")
                continue
            if end - start - 2 > LONGEST:
                unread[start] = Unread(start, f"it has {end - start - 2:,} characters, more than {LONGEST:,}")
                continue
            spans[start] = end
        if not _DATE.fullmatch(plain, start + 1, spans[start] - 1):
            claims.setdefault(start, []).append(number)
    return claims, spans, [unread[start] for start in sorted(unread)]


def _closing(plain: str, start: int, limit: int) -> int | None:
    """The offset after the parenthesis that closes the one at ``start``; None if none does."""
    depth = 0
    for match in re.compile(r"[()]").finditer(plain, start, limit):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.end()
    return None


def _nested(citations: Sequence[LocatedCitation], spans: dict[int, int]) -> list[bool]:
    """For each citation, whether it is inside the parenthetical of another."""
    events = sorted(spans.items())
    nested, at, end = [], 0, 0
    for item in sorted(range(len(citations)), key=lambda number: citations[number].start):
        start = citations[item].start
        while at < len(events) and events[at][0] < start:
            end = max(end, events[at][1])
            at += 1
        nested.append((item, start < end))
    return [inside for _, inside in sorted(nested)]


def _parenthetical(
    text: str,
    plain: str,
    citations: Sequence[LocatedCitation],
    cited: Sequence[Cited | None],
    claimants: list[int],
    start: int,
    end: int,
) -> Parenthetical:
    number = claimants[-1]
    to = cited[number]
    for earlier in reversed(claimants[:-1]):
        before = cited[earlier]
        if to is None or before is None or before.resource != to.resource:
            break
        number = earlier
    item, to = citations[number], cited[number]
    pincite = item.citation.metadata.pin_cite
    return Parenthetical(
        start=start,
        end=end,
        text=text[start + 1 : end - 1],
        citation=item.citation.matched_text().rstrip(", "),
        kind=item.kind or "",
        pincite=pincite,
        pages=pages_of(pincite),
        resource=to.resource if to else None,
        volume=to.volume if to else "",
        history=_has_history(plain, item, start, end),
        following=_following(text, plain, end, item.paragraph_end),
    )


def _following(text: str, plain: str, end: int, limit: int) -> str:
    match = re.compile(r" ?\(").match(plain, end, limit)
    if match is None:
        return ""
    closing = _closing(plain, match.end() - 1, limit)
    return text[match.end() : closing - 1] if closing else ""


def _has_history(plain: str, item: LocatedCitation, start: int, end: int) -> bool:
    """Whether a history flag is before the citation, between it and its parenthetical, or after.

    A.1.2, second filter.  The released code looks for eleven flags between two commas right before
    or after the citation; here they count between citation and parenthetical too, and written out.
    """
    return bool(
        _HISTORY_WITHIN.search(plain, item.end, start)
        or _HISTORY_BEFORE.search(plain[max(item.paragraph_start, item.start - 60) : item.start])
        or _HISTORY_BEFORE.search(plain[max(item.paragraph_start, item.named - 60) : item.named])
        or _HISTORY_AFTER.match(plain, end)
    )
