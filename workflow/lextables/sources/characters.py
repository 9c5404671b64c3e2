"""Characters that a reader cannot tell from plain ones, or does not see at all.

Programs put them into texts to lay them out: soft hyphens, zero-width spaces,
ligatures, wide spaces.  Fonts of symbols show other characters than those of the text.
"""

import re
import unicodedata
from array import array
from dataclasses import dataclass
from functools import lru_cache

_TAG = re.compile("<[^>]*>")

# Unicode's property Default_Ignorable_Code_Point: drawn as nothing.
_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"
)
INVISIBLE = re.compile(f"[{_IGNORABLE}]+")
# A word that is divided at the end of a line, by a hyphen or a soft one; invisible
# characters; a letter with its accents; any other character outside ASCII.
_UNUSUAL = re.compile(
    r"\b([A-Za-z]++)[-\u2010]\n([a-z]++)"
    r"|\u00ad[ \t]*+\n\s*+(?=[a-z])"
    f"|[{_IGNORABLE}]+"
    r"|[^\W\d_][\u0300-\u034e\u0350-\u036f]+"
    r"|[^\x00-\x7f]"
)
_WORD = re.compile("[a-z]+")
_VISIBLE = re.compile(f"[^\0-\x7f{_IGNORABLE}]")
_HYPHENS = "\u2010\u2011"
_LINE_ENDS = "\u2028\u2029"
# Kinds of Unicode's compatibility decompositions that keep the meaning; superscripts
# and fractions do not.
_SAME_MEANING = (
    "<compat>",
    "<font>",
    "<wide>",
    "<narrow>",
    "<noBreak>",
    "<initial>",
    "<medial>",
    "<final>",
    "<isolated>",
)

_WINGDINGS = (
    b"\x46\x6c\x6e\x6f\x71\x76\x78\x9f\xa7\xa8\xd8\xe0\xfb\xfc\xfd\xfe",
    "☞●■□❑❖☒•▪◻➢→✗✓☒☑",
)
_SYMBOL = (
    b"\xa3\xb0\xb1\xb3\xb4\xb7\xb9\xd2\xd3\xd4\xe2\xe3\xe4abgdepqlmsDSWPF",
    "≤°±≥×•≠®©™®©™αβγδεπθλμσΔΣΩΠΦ",
)


def _by_code(codes: bytes, symbols: str) -> dict[int, str]:
    """{code: symbol}; codes in a file may be shifted by 0xF000."""
    by_code = dict(zip(codes, symbols, strict=True))
    return by_code | {0xF000 + code: symbol for code, symbol in by_code.items()}


# {font: {code: what it shows}}
SYMBOL_FONTS = {"wingdings": _by_code(*_WINGDINGS), "symbol": _by_code(*_SYMBOL)}


def with_symbols(text: str, font: str) -> str:
    """Return what a font shows for a text: symbols if it is one of `SYMBOL_FONTS`."""
    return text.translate(SYMBOL_FONTS.get(font.lower(), {}))


@dataclass(frozen=True)
class PlainText:
    """A text in plain characters, and where each of them comes from.

    Character ``i`` of ``text`` stands for the characters ``starts[i]`` to ``ends[i]``
    (half-open) of the source.
    """

    text: str
    starts: array
    ends: array

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the place in the source of the non-empty span from ``start`` to
        ``end`` (half-open).
        """
        return self.starts[start], self.ends[end - 1]


def plain(source: str) -> PlainText:
    """Return ``source`` without invisible characters, with plain letters, spaces and
    hyphens.

    A word that a hyphen divides at the end of a line is joined if the text also has
    it undivided; one that a soft hyphen divides always, before a small letter.
    """
    pieces: list[str] = []
    starts = array("I")
    ends = array("I")
    words = frozenset(_WORD.findall(source.lower()))
    copied = 0
    for match in _UNUSUAL.finditer(source):
        if match[1]:
            replacement = _joined_word(match, words)
        else:
            replacement = _plain_characters(match[0])
        if replacement == match[0]:
            continue
        start, end = match.span()
        pieces += (source[copied:start], replacement)
        starts.extend(range(copied, start))
        ends.extend(range(copied + 1, start + 1))
        for _ in replacement:
            starts.append(start)
            ends.append(end)
        copied = end
    pieces.append(source[copied:])
    starts.extend(range(copied, len(source)))
    ends.extend(range(copied + 1, len(source) + 1))
    return PlainText("".join(pieces), starts, ends)


def without_tags(text: str) -> str:
    """Return a text without each < and what follows it up to the next >."""
    # Only up to the last >: each search ends, so that the time grows with the length of
    # the text.
    tagged, mark, rest = text.rpartition(">")
    return _TAG.sub("", tagged + mark) + rest


def _joined_word(match: re.Match[str], words: frozenset[str]) -> str:
    """Return the divided word of a match of `_UNUSUAL` if it is one of ``words``; else
    the match.
    """
    joined = match[1] + match[2]
    if joined.lower() in words:
        return joined
    return match[0]


def with_plain_letters(source: str) -> str:
    """Return ``source`` with plain letters, spaces and hyphens; its invisible
    characters stay.
    """
    return _VISIBLE.sub(lambda match: _plain_characters(match[0]), source)


@lru_cache(maxsize=4096)
def _plain_characters(characters: str) -> str:
    """Return the plain form of a match of `_VISIBLE`, or of `_UNUSUAL` but for the
    words that a hyphen divides; its own characters if there is none.
    """
    if INVISIBLE.match(characters):
        return ""
    if len(characters) > 1:
        return unicodedata.normalize("NFC", characters)
    if characters in _HYPHENS:
        return "-"
    if characters in _LINE_ENDS:
        return "\n"
    if unicodedata.category(characters) == "Zs":
        return " "
    if not unicodedata.decomposition(characters).startswith(_SAME_MEANING):
        return characters
    decomposed = unicodedata.normalize("NFKC", characters)
    # A spacing accent would become a space and an accent.
    return characters if decomposed.startswith(" ") else decomposed
