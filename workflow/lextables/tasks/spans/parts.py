"""Parts of a unit that may answer by themselves: its dates and its titles.

Some answers are shorter than a sentence: the date of an agreement, the name of a document.
"""

import re

from lextables.tasks.spans.units import Span

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?"
    r"|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_LEFT_OPEN = r"_+|\[[^\]\n]{0,12}\]"  # for whoever signs to fill in
# A line break of the filing may stand within th, nd and the like.
_DAY = rf"(?:\d{{1,2}}\s?(?:s ?t|n ?d|r ?d|t ?h)?|{_LEFT_OPEN}|first|second|third)"
_YEAR = rf"(?:\d{{4}}|\d{{2}}_+|{_LEFT_OPEN})"
_DATE = re.compile(
    rf"(?:the\s+)?{_DAY}\s+day\s+of\s+\w+,?\s*(?:of\s+)?{_YEAR}"
    rf"|{_MONTH}\s*{_DAY}\s*,?\s*{_YEAR}"
    rf"|{_DAY}\s*(?:of\s+)?{_MONTH}\s*,?\s*{_YEAR}"
    rf"|{_MONTH},?\s+\d{{4}}"
    r"|\d{1,2}[/.-]\d{1,2}[/.-]\d{2,4}|\d{4}[/-]\d{1,2}[/-]\d{1,2}",
    re.IGNORECASE,
)
_CAPITAL = r"[A-Z0-9][\w&’'/.,()-]*"
_CAPITALS = re.compile(rf"{_CAPITAL}(?:\s+(?:{_CAPITAL}|and|of|for|the|to|in|on|&|-)(?=\s|$))*")
_DOCUMENT = re.compile(
    r"agreement|contract|amendment|license|addendum|lease|terms|letter|plan|policy|exhibit|services|joint|deed"
    r"|schedule|memorandum",
    re.IGNORECASE,
)
_LAST_WORD = re.compile(r"\b(?:agreement|contract|amendment|addendum|undertaking)\b", re.IGNORECASE)
_BEFORE_TITLE = re.compile(
    r"(?:EX(?:HIBIT)?[\s-]*[\d.]+\w?|This|The|Execution (?:Copy|Version)|[\d.]+)\s+", re.IGNORECASE
)
_SHORTEST_TITLE = 6


def dates(text: str) -> list[Span]:
    """Return where each date of ``text`` stands, also one that is left open, in order."""
    return [match.span() for match in _DATE.finditer(text)]


def titles(text: str) -> list[Span]:
    """Return where the names of documents may stand in ``text``: capitalised words, one of them of that kind.

    They begin after an exhibit's number or an article, and end where the first or the last word like
    Agreement does.
    """
    found = []
    for match in _CAPITALS.finditer(text):
        words = match[0]
        if _DOCUMENT.search(words):
            before = _BEFORE_TITLE.match(words)
            start = match.start() + (before.end() if before else 0)
            ends = [match.start() + last.end() for last in _LAST_WORD.finditer(words)] or [match.end()]
            found += [(start, end) for end in (ends[0], ends[-1])]
    return [span for span in dict.fromkeys(found) if span[1] - span[0] >= _SHORTEST_TITLE]
