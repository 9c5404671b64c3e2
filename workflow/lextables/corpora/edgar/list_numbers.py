"""The numbers of the items of HTML lists, as a browser shows them."""

import re
from dataclasses import dataclass

from selectolax.lexbor import LexborNode

LISTS = ("ol", "ul")

# Searched in a style attribute in lower case (`html_text`).
_LIST_STYLE = re.compile(
    r"list-style(?:-type)?:[^;]*?\b(none|decimal|lower-alpha|lower-latin|upper-alpha|"
    r"upper-latin|lower-roman|upper-roman|disc|circle|square)\b"
)
# {`type` of a list in HTML: its style in CSS}
_TYPES = {
    "a": "lower-alpha",
    "A": "upper-alpha",
    "i": "lower-roman",
    "I": "upper-roman",
}
_UNNUMBERED = ("none", "disc", "circle", "square")
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
            return cls("none", 1, 1)
        attributes = node.attributes
        named = _LIST_STYLE.search(style)
        type_ = _TYPES.get((attributes.get("type") or "").strip(), "decimal")
        step = -1 if "reversed" in attributes else 1
        first = 1
        if step < 0:
            first = sum(child.tag == "li" for child in node.iter())
        start = _whole_number(attributes.get("start"), first)
        return cls(named[1] if named else type_, start, step)

    def marker(self, value: str | None, style: str) -> str:
        """The number of the next item as a browser shows it; empty without one."""
        number = _whole_number(value, self.number)
        self.number = number + self.step
        named = _LIST_STYLE.search(style)
        text = _numeral(number, named[1] if named else self.style)
        return f"{text}." if text else ""


def _whole_number(text: str | None, default: int) -> int:
    """The whole number of an attribute; ``default`` for other texts."""
    if text and re.fullmatch(r"\s*-?\d{1,9}\s*", text):
        return int(text)
    return default


def _numeral(number: int, style: str) -> str:
    """A number in a style of CSS; empty if the style shows none."""
    if style in _UNNUMBERED:
        return ""
    text = str(number)
    kind = style.split("-")[-1]
    if kind in ("alpha", "latin") and number > 0:
        text = ""
        while number:
            number, letter = divmod(number - 1, 26)
            text = chr(ord("a") + letter) + text
    elif kind == "roman" and 0 < number < 4000:
        text = ""
        for numeral, value in ROMAN.items():
            count, number = divmod(number, value)
            text += numeral * count
    return text.upper() if style.startswith("upper") else text
