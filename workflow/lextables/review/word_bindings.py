"""Content controls of a Word file that are bound to data.

Word shows the value of an element or attribute in another part of the package.  The
control itself has the text that Word showed when it last saved the file.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from lextables.review.word_styles import Element

# Parts with data: data of the author, and the properties of the document.
FOLDERS_OF_DATA = ("customxml/", "docprops/")
# A step of a path as Word writes it: a name, perhaps with a prefix and a number.
_STEP = re.compile(r"(?:[\w.-]+:)?([\w.-]+)(\[\d+\])?")
_ATTRIBUTE = re.compile(r"@(?:[\w.-]+:)?([\w.-]+)")
# Controls that show something else than the text of the data, or other controls.
_WITHOUT_TEXT = ("checkbox", "picture", "repeatingSection")
_DAY = len("2024-01-31")


class Bindings:
    """The data to which the content controls of a document are bound."""

    def __init__(self, document: Element, parts: Iterable[Element]) -> None:
        self.values: defaultdict[str, set[str]] = defaultdict(set)
        bindings = document.iter("dataBinding")
        self.paths = {_path(binding.get("xpath", "")) for binding in bindings}
        if self.paths:
            for root in parts:
                self._add(root, f"/{root.tag}[1]")

    def _add(self, element: Element, path: str) -> None:
        """Add the values of an element and of what is below it."""
        if path in self.paths:
            self.values[path].add(_without_spaces(element.text or ""))
        for name, value in element.attrib.items():
            if f"{path}/@{name}" in self.paths:
                self.values[f"{path}/@{name}"].add(_without_spaces(value))
        numbers: Counter[str] = Counter()
        for inside in element.iterchildren("*"):
            numbers[inside.tag] += 1
            self._add(inside, f"{path}/{inside.tag}[{numbers[inside.tag]}]")

    def may_show_other_text(self, control: Element) -> bool:
        """Return whether a control is bound to data that is not its text, or that is
        not found.
        """
        properties = control.find("sdtPr")
        if properties is None:
            return False
        binding = properties.find("dataBinding")
        if binding is None or any(
            properties.find(name) is not None for name in _WITHOUT_TEXT
        ):
            return False
        values = self.values.get(_path(binding.get("xpath", "")), set())
        if properties.find("showingPlcHdr") is not None:
            return any(values)
        days = {value[:_DAY] for value in values}
        is_same_day = _day(properties) in days
        return not is_same_day and values.isdisjoint(_shown_values(control, properties))


def _path(xpath: str) -> str:
    """Return a path with the local name and the number of each step; "" for a path that
    Word does not write.
    """
    first, *steps = xpath.split("/")
    path = first
    for step in steps:
        attribute = _ATTRIBUTE.fullmatch(step)
        element = _STEP.fullmatch(step)
        if attribute:
            path += f"/@{attribute[1]}"
        elif element:
            path += f"/{element[1]}{element[2] or '[1]'}"
        else:
            return ""
    return path


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def _shown_values(control: Element, properties: Element) -> set[str]:
    """Return the values that have the text of a control: the text itself, and the
    values of the options with this text.
    """
    texts = [text for inside in control.iter("t") if (text := inside.text)]
    shown = _without_spaces("".join(texts))
    values = {shown}
    for option in properties.iter("listItem"):
        value = option.get("value", "")
        if _without_spaces(option.get("displayText", value)) == shown:
            values.add(_without_spaces(value))
    return values


def _day(properties: Element) -> str | None:
    """Return the day that a control for dates shows in its own format, if it is one."""
    date = properties.find("date")
    return None if date is None else date.get("fullDate", "")[:_DAY]
