"""The numbers of the items of HTML lists, as a browser shows them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

LISTS = ("ol", "ul", "menu", "dir")

# Searched in a style attribute in lower case, without blanks around signs.
_LIST_STYLE = re.compile(
    r"list-style(?:-type)?:[^;]{0,100}?(?<![\w-])(none|decimal|decimal-leading-zero|disc|circle|square"
    r"|(?:lower|upper)-(?:alpha|latin|roman)|lower-greek)(?![\w-])"
)
_UNNUMBERED = ("none", "disc", "circle", "square")
# {`type` in HTML: its style in CSS}
_TYPES = {
    "1": "decimal",
    "a": "lower-alpha",
    "A": "upper-alpha",
    "i": "lower-roman",
    "I": "upper-roman",
} | {name: name for name in _UNNUMBERED}
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_LETTERS = {"alpha": _LATIN, "latin": _LATIN, "greek": "αβγδεζηθικλμνξοπρστυφχψω"}
_ROMAN_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
ROMAN = dict(zip("m cm d cd c xc l xl x ix v iv i".split(), _ROMAN_VALUES, strict=True))


@dataclass
class NumberedList:
    """A list that is open: the style of its items' numbers, and the next number."""

    style: str
    number: int
    step: int

    @classmethod
    def opened(cls, node: LexborNode, style: str) -> "NumberedList":
        """The list that begins with a node, which has this ``style`` attribute."""
        if node.tag != "ol":
            # A style may give it numbers, but a `type` cannot.
            return cls(_style_of({}, style, "disc"), number=1, step=1)
        attributes = node.attributes
        first = 1
        step = 1
        if "reversed" in attributes:
            first = sum(child.tag == "li" for child in node.iter())
            step = -1
        first = _whole_number(attributes.get("start"), first)
        return cls(_style_of(attributes, style, "decimal"), first, step)

    def marker(self, item: LexborNode, style: str) -> str:
        """The number of the next item as a browser shows it; empty without one."""
        attributes = item.attributes
        number = _whole_number(attributes.get("value"), self.number)
        self.number = number + self.step
        text = _numeral(number, _style_of(attributes, style, self.style))
        return f"{text}." if text else ""


def _style_of(attributes: Mapping[str, str | None], style: str, default: str) -> str:
    """The style in CSS of the numbers of a list or an item: that of its ``style``
    attribute, else that of its ``type``, else ``default``.
    """
    named = _LIST_STYLE.search(style)
    if named:
        return named[1]
    return _TYPES.get((attributes.get("type") or "").strip(), default)


def _whole_number(text: str | None, default: int) -> int:
    """The whole number with which an attribute begins; ``default`` if it begins with
    none, or with one of more than nine digits.
    """
    match = re.match(r"\s*([+-]?\d{1,9})(?!\d)", text or "")
    return int(match[1]) if match else default


def _numeral(number: int, style: str) -> str:
    """A number in a style of CSS; empty if the style shows none.

    A style that cannot write the number, such as 0 in letters, shows its digits.
    """
    if style in _UNNUMBERED:
        return ""
    text = f"{number:02}" if style == "decimal-leading-zero" else str(number)
    kind = style.split("-")[-1]
    if kind in _LETTERS and number > 0:
        # After the last letter come two letters: z, aa, ab.
        letters = _LETTERS[kind]
        text = ""
        while number:
            number, place = divmod(number - 1, len(letters))
            text = letters[place] + text
    elif kind == "roman" and 0 < number < 4000:
        text = ""
        for numeral, value in ROMAN.items():
            count, number = divmod(number, value)
            text += numeral * count
    return text.upper() if style.startswith("upper") else text
