"""LawngNLI, Appendix A.1.1: pincites, which are the pages and notes that a citation
names after the case.

eyecite reads "155, n. 3", and nothing at all of "155 n.3", "155 & n.3" or "155-56 and
n. 3".  Here one grammar reads all forms: `PARTS`, joined by commas, "and", "&" or a
space.
"""

import re
from dataclasses import dataclass

# A longer range is a misprint: eyecite too takes no opinion to be longer.
LONGEST_RANGE = 150

PARTS = {
    "note": r"(?:nn?|fn?|fn[ns]|[Nn]otes?|[Ff]ootnotes?)\.? ?(?:\d+[a-z]?(?:-\d+)?|\*{1,4})(?!\w)",
    "place": r"(?:¶{1,2}|§{1,2}|paras?\.|cols?\.|lines?) ?\d[\w-]*(?:\.\d+)*(?:\(\w{1,4}\))*",
    "page": r"(?:(?:pp?\.|pg\.?|[Pp]ages?) ?)?(?P<first>\d+)(?:-(?P<last>\d+))?(?![\w:]|-\d)",
    "other": r"\*{1,4} ?\d+(?:-\*?\d+)?(?!\w)|\d+:\d+(?:-[\d:]+)?|\d+[a-z]\b|[A-Z]-?\d+\b|[ivxlc]+\b"
    r"|et seq\.|ff?\.|passim\b",
}
"""The parts of a pincite, in the order in which they are tried.  A pincite with a part
"other" names no page that can be resolved.
"""

_JOIN = r"(?:,? ?(?:and |& ?)|, ?| )"
_ANY_PART = re.sub(r"\?P<\w+>", "?:", "|".join(PARTS.values()))
_FORM = rf",? ?(?:at )?(?:{_ANY_PART})(?:{_JOIN}(?:at )?(?:{_ANY_PART}))*"
# As in eyecite, what follows shows that the last number is not the volume of the next
# citation.
_PINCITE = re.compile(rf"{_FORM}(?=[,.;:)\]\"'?!]| ?[(\[]| --|$)")
BEFORE_PARALLEL = re.compile(rf"(?:{_FORM})?, ?")
"""What stands between two parallel citations."""

_PART = re.compile(
    "|".join(f"(?P<{name}>{pattern})" for name, pattern in PARTS.items())
)
_BEFORE_PART = re.compile(rf"{_JOIN}?(?:at )?")
_MORE_NOTES = re.compile(r"\d{1,2}(?:-\d{1,2})?")  # numbers after a note
_DASHES = str.maketrans("‐‑‒–—−", "------")


@dataclass(frozen=True)
class Pages:
    """The pages that a pincite names, as labels, ascending.

    ``text`` are those whose text is cited.  It is empty if the pincite names a note
    ("155, n. 3", "155-156, and n. 3"): the statement may be in the note, which is not
    part of the page's text.
    """

    named: tuple[str, ...] = ()
    text: tuple[str, ...] = ()


def read_pincite(plain: str, start: int, limit: int) -> tuple[str | None, int]:
    """Return the pincite that begins at ``start``, and the offset after it; None if
    there is none.
    """
    match = _PINCITE.match(plain, start, limit)
    if match is None:
        return None, start
    return match[0].strip(", "), match.end()


def pages_of(pincite: str | None) -> Pages:
    """Return the pages that a pincite names; none if it cannot be resolved (A.1.1).

    Accepted are ``12``, ``12-14``, ``112-14``, ``12, 15-16``, ``at 23``, ``p. 23``,
    each with notes (``153 n.5``; ``153-154, and nn. 5-6``) and paragraphs (``153 ¶
    5``).  Not resolvable are pages with letters, sections and paragraphs alone, lines,
    star pages, "et seq.", and ranges that run backwards or past `LONGEST_RANGE` pages.
    """
    text = (pincite or "").translate(_DASHES).strip(", ")
    named: set[int] = set()
    has_notes = False
    in_notes = False  # whether a note has been read since the last page
    offset = 0
    while offset < len(text):
        before = _BEFORE_PART.match(text, offset)
        assert before is not None  # it may be empty
        part = _PART.match(text, before.end())
        if part is None or part["other"]:
            return Pages()
        offset = part.end()
        if part["note"]:
            has_notes = True
            in_notes = True
        elif part["place"]:
            if not named:  # a paragraph or section alone
                return Pages()
        elif in_notes and _MORE_NOTES.fullmatch(part["page"]):
            continue  # "153-154, and nn. 5, 6": a short number after a note is a note
        else:
            pages = _range(part["first"], part["last"])
            if pages is None:
                return Pages()
            in_notes = False
            named.update(pages)
    labels = tuple(map(str, sorted(named)))
    return Pages(labels, () if has_notes else labels)


def _range(first: str, last: str | None) -> range | None:
    """Return the pages from ``first`` to ``last``; None if they cannot be pages of a
    volume.
    """
    digits = len(first)
    if last is None and digits in (6, 8):
        # No volume has so many pages: the dash of "219-220" was lost in print.
        return _range(first[: digits // 2], first[digits // 2 :])
    if digits > 5:
        return None
    start = int(first)
    if last is None:
        return range(start, start + 1)
    if len(last) < digits:
        last = first[: digits - len(last)] + last
    end = int(last)
    if end < start or end >= start + LONGEST_RANGE:
        return None
    return range(start, end + 1)
