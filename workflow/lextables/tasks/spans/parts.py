"""Parts of a unit that may answer by themselves: its dates, titles and names.

Some answers are shorter than a sentence: the date of an agreement, the name of a document or of a party.
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

_GAP = r"(?:[ \xa0]{1,2}|\s(?!\s))"  # wider ones stand between columns and paragraphs
_NEXT = r"(?=[\s,.;:)”\"]|$)"
_FORM = (  # of companies
    r"(?:Inc(?:orporated)?|L\.?\s?L\.?\s?C|Ltd|Limited|Corp(?:oration)?|Co(?:mpany)?|L\.?\s?P|L\.?L\.?P"
    r"|P\.?L\.?C|GmbH|A\.?G|S\.?A|N\.?V|B\.?V|S\.?p\.?A|Trust|Bank|University)\b\.?"
)
_NAME_WORD = r"[A-Z0-9][\w&’'.()/-]*"
_NAME = re.compile(
    rf"{_NAME_WORD}(?:{_GAP}(?:{_NAME_WORD}|of|and|&|the|for|de|in){_NEXT}|,{_GAP}{_FORM}{_NEXT})*"
)
_COMPANY_END = re.compile(rf",?\s+{_FORM}{_NEXT}")
_LEFT_OVER = re.compile(r"(?:\s+(?:and|of|for|the|in|&))+$")
_QUOTED = re.compile(r"[“\"]\s*([^“”\"\n]{2,60}?)\s*,?[”\"]")
_DEFINED = re.compile(r"\(([^()]{0,40}[“\"][^()]{2,80})\)")  # (the "Buyer")
_LETTER = re.compile(r"[^\W\d_]")
_AND = re.compile(r"\s+and\s+")


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


def names(text: str) -> list[Span]:
    """Return where ``text`` may name somebody: capitalised words, and what stands in quotes, in order.

    Of capitalised words also those up to a company's form, and those on either side of an `and`.
    """
    found = [match.span(1) for pattern in (_QUOTED, _DEFINED) for match in pattern.finditer(text)]
    for match in _NAME.finditer(text):
        start, words = match.start(), _LEFT_OVER.sub("", match[0])
        ends = [end.end() for end in _COMPANY_END.finditer(words)]
        joints = [0, *(place for joint in _AND.finditer(words) for place in joint.span()), len(words)]
        inside = [
            (0, len(words)),
            *((0, end) for end in ends[:1]),
            *zip(joints[::2], joints[1::2], strict=True),
        ]
        found += [(start + first, start + last) for first, last in inside]
    return [(first, last) for first, last in sorted(set(found)) if _LETTER.search(text, first, last)]
