"""A text without its page breaks and page numbers.

A sentence that runs over a page break is joined again.  A bare number is a page number
only if it continues the numbers of other pages.  Running heads are kept because they
cannot be distinguished from headings.
"""

import re

from lextables.corpora.edgar.list_numbers import ROMAN
from lextables.sources.characters import INVISIBLE

# A page number that cannot be anything else: "- 3 -", "Page 3", "3 of 10".
_MARKED_NUMBER = re.compile(
    r"(?:[-–—]\s*(\d{1,4}|[ivxl]{1,6})\s*[-–—]"
    r"|[-–—\s]*page\s+(?:[a-z]{1,2}-)?(\d{1,4}|[ivxl]{1,6})(?:\s+of\s+\d{1,4})?[-–—\s]*"
    r"|[-–—\s]*(\d{1,4})\s+of\s+\d{1,4}[-–—\s]*)",
    re.IGNORECASE,
)
# A number alone, which may also be a figure, the number of a clause or a table's row.
_BARE_NUMBER = re.compile(r"([A-Za-z]{1,2}-)?(\d{1,4}|[ivxl]{1,6})")
FARTHEST = 3  # pages between numbers that continue each other
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_PLAIN = str.maketrans({"\u00a0": " ", "\u2028": "\n", "\x85": "\n"})


def joined_pages(text: str, within: str) -> str:
    """Join the pages of a text, which form feeds separate, without their numbers.

    A text of one page keeps its first and last line.  ``within`` joins the halves of a
    sentence that runs over a page break.
    """
    text = text.translate(_PLAIN)
    pages = []
    for page in INVISIBLE.sub("", _CONTROL.sub("", text)).split("\f"):
        lines = [line.rstrip() for line in page.split("\n")]
        if any(lines):
            pages.append("\n".join(lines).strip("\n").split("\n"))
    if len(pages) > 1:
        pages = _without_numbers(pages)
    joined = ""
    for lines in pages:
        page = "\n".join(lines).strip("\n")
        if page and joined:
            joined += within if _runs_on(joined, page) else "\n\n"
        joined += page
    return re.sub(r"\n{3,}", "\n\n", joined).strip()


def _runs_on(before: str, page: str) -> bool:
    """Whether a sentence of the text ``before`` goes on at the beginning of a page."""
    is_open = before[-1].isalnum() or before[-1] in ",-"
    return is_open and page.lstrip()[0].islower()


def _without_numbers(pages: list[list[str]]) -> list[list[str]]:
    """The lines of pages without page numbers in the first or last line."""
    at_top = _are_numbers([lines[0] for lines in pages])
    at_bottom = _are_numbers([lines[-1] for lines in pages])
    remaining = []
    for lines, has_top, has_bottom in zip(pages, at_top, at_bottom, strict=True):
        start = 1 if has_top else 0
        end = len(lines) - 1 if has_bottom else len(lines)
        remaining.append(lines[start:end])
    return remaining


def _are_numbers(lines: list[str]) -> list[bool]:
    """Whether each line is a page number; the lines are at the same edge of all pages.

    A marked number ("Page 3") always is.  A bare number is one if a page at most
    `FARTHEST` pages away has the number that counting on gives.
    """
    # Of each page: whether its number is marked, and the prefix of the number with its
    # value less the place of the page.  Numbers that continue each other have both the
    # same.
    are_marked: list[bool] = []
    counts: list[tuple[str, int] | None] = []
    for place, line in enumerate(lines):
        marked = _MARKED_NUMBER.fullmatch(line.strip())
        bare = _BARE_NUMBER.fullmatch(line.strip())
        count = None
        if marked:
            (numeral,) = filter(None, marked.groups())
            count = ("", _value(numeral) - place)
        elif bare:
            count = (bare[1] or "", _value(bare[2]) - place)
        are_marked.append(marked is not None)
        counts.append(count)
    are_numbers = []
    for place, count in enumerate(counts):
        before = counts[max(place - FARTHEST, 0) : place]
        after = counts[place + 1 : place + 1 + FARTHEST]
        continues = count is not None and count in before + after
        are_numbers.append(are_marked[place] or continues)
    return are_numbers


def _value(numeral: str) -> int:
    """The value of digits, or of a Roman numeral."""
    if numeral.isdigit():
        return int(numeral)
    rest = numeral.lower()
    value = 0
    for letters, number in ROMAN.items():
        while rest.startswith(letters):
            value += number
            rest = rest[len(letters) :]
    return value
