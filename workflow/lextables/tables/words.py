"""Comparison of texts in tables: words, numbers and symbols."""

import unicodedata

import regex

# {symbol: other spellings of it}
_SPELLINGS = {
    "±": ("+/-", "+-"),
    "≤": ("<=", "⩽", "≦"),
    "≥": (">=", "⩾", "≧"),
    "≠": ("!=",),
    "~": ("∼",),
}
_INVISIBLE = regex.compile(r"\p{Cf}")
_DASH = regex.compile(r"[\p{Pd}−]")
# The place before a raised digit or a fraction, which is not one more digit of the
# number before it: 10² is not 102.
_RAISED = regex.compile(r"(?<=\d)(?=[⁰¹²³⁴-⁹⁺⁻¼½¾⅐-⅞])")
# The commas of "1,234,567", and the place of a zero in ".5".
_THOUSANDS = regex.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:,\d{3})+(?!,?\d)")
_NO_ZERO = regex.compile(r"(?<![\w.,])\.(?=\d)")
# A sign stands before a number, and at the beginning or after a blank, a bracket, a
# comma or a symbol.
_OPENING = r"[(\[{,;:\p{Sm}\p{Sc}]"
_NUMBER = r"(?=\p{Sc}?\s?\d|∞|inf\b)"
_PLUS = regex.compile(rf"(?<=^|\s|{_OPENING})\+{_NUMBER}")
_SPACED_MINUS = regex.compile(rf"(?<=(?:^|{_OPENING})\s*)-\s+{_NUMBER}")
# A minus at such a place; the blank after it was removed before (`_SPACED_MINUS`).
_MINUS = rf"(?<=^|\s|{_OPENING})-{_NUMBER}"
_PARTS = regex.compile(
    "|".join(
        (
            rf"(?:{_MINUS})?\d+(?:[.,]\d+)*",  # a number
            _MINUS,  # the sign of a number after a currency, or of infinity
            r"(?<=\d\s*)[-/:](?=\s*\d)",  # a symbol between two digits
            r"[\p{L}\p{M}\p{N}]+",  # a word
            r"[\p{Sm}\p{Sc}\p{So}%‰]",  # another symbol
        )
    )
)


def same_words(first: str, second: str) -> bool:
    """Whether two texts have the same words, numbers and symbols in the same order.

    Case, blanks, punctuation, hyphens of words, commas of thousands and a plus before a
    number do not count. A minus before a number counts, and so do a dash, slash or
    colon between two digits, and all symbols, such as "≤", "$" and "%".
    """
    return _parts(first) == _parts(second)


def _parts(text: str) -> list[str]:
    """The words, numbers and symbols of a text; the text itself if it has none of
    them.
    """
    text = _INVISIBLE.sub("", text)
    text = _RAISED.sub(" ", text)
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _DASH.sub("-", text)
    for symbol, spellings in _SPELLINGS.items():
        for spelling in spellings:
            text = text.replace(spelling, symbol)
    text = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), text)
    text = _NO_ZERO.sub("0.", text)
    text = _PLUS.sub("", text)
    text = _SPACED_MINUS.sub("-", text)
    return _PARTS.findall(text) or [text.strip()]
