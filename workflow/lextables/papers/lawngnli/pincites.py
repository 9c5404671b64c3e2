"""LawngNLI, Appendix A.1.1: pincites, from what a judge wrote to a set of pages."""

import re
from dataclasses import dataclass

# A longer range is a misprint: eyecite too takes no opinion to be longer.
LONGEST_RANGE = 150

_LABEL = re.compile(r"^(?:at\b\s*)?(?:(?:pp?\.|pg\.?|pages?\b)\s*)?", re.IGNORECASE)
_NOTE = re.compile(r"(?:& ?|and )?(?:nn?\b\.?|fn?\b\.?|(?:foot)?notes?\b) ?(\d+(?:-\d+)?|\*+)", re.IGNORECASE)
_PAGES = re.compile(r"(\d+)(?:-(\d+))?")
_MORE_NOTES = re.compile(r"\d{1,2}(?:-\d{1,2})?")
_DASHES = str.maketrans("‐‑‒–—−", "------")


@dataclass(frozen=True)
class Pincite:
    """The pages that a pincite names, ascending, and the footnotes, as written.

    A page that only says where a footnote stands, as in ``153, n. 5``, is not among the pages.
    """

    pages: tuple[str, ...]
    notes: tuple[str, ...]


def read_pincite(pincite: str) -> Pincite | None:
    """Return the pages of a pincite, or None if it cannot be resolved (A.1.1).

    Understood are ``12``, ``12-14``, ``112-14``, ``12, 15-16``, ``at 23``, ``p. 23`` and footnotes
    (``153, n. 5``; ``153-154, and nn. 5-6``).  Not resolvable are pages with letters, sections,
    paragraphs, lines, star pages, and ranges that run backwards or past `LONGEST_RANGE` pages.
    """
    pages: set[int] = set()
    notes: list[str] = []
    # In "155 n. 15" the note stands on the page with no comma between.
    text = re.sub(r"(?<=\d)\s+(?=(?:&|and\b)? ?(?:nn?\.|fn?\.|notes?\b))", ", ", pincite.translate(_DASHES))
    alone: int | None = None
    for part in filter(None, (_LABEL.sub("", piece.strip()).strip() for piece in text.split(","))):
        if note := _NOTE.fullmatch(part):
            if alone is not None and not notes and part[0] not in "&aA":
                pages.discard(alone)
            notes.append(note[1])
        elif notes and _MORE_NOTES.fullmatch(part):
            notes.append(part)
        elif matched := _PAGES.fullmatch(part):
            span = _range(*matched.groups())
            if span is None:
                return None
            alone = span.start if len(span) == 1 else None
            pages.update(span)
        else:
            return None
    return Pincite(tuple(map(str, sorted(pages))), tuple(notes))


def pages_of(pincite: str | None) -> tuple[str, ...]:
    """Return the pages a pincite names, ascending; empty if there are none or they are not resolvable."""
    read = read_pincite(pincite) if pincite else None
    return read.pages if read else ()


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
