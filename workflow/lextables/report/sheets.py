"""Pages that compare across papers: rows that are counted elsewhere, as tables to read and to sort."""

from collections.abc import Sequence
from dataclasses import dataclass

from lextables.report.layout import Page

TEMPLATE = "sheet.html.j2"


@dataclass(frozen=True)
class Sheet:
    """A table of a page: columns, rows of texts, and which columns hold words and not numbers.

    ``place`` is the page that it is drawn from, where there is one.
    """

    title: str
    text: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Sequence[str] = ()
    place: str = ""


def page(path: str, title: str, lead: str, sheets: Sequence[Sheet], notes: Sequence[str] = ()) -> Page:
    """Return a page of sheets, such as a leaderboard."""
    values = {"lead": lead, "sheets": sheets, "notes": notes}
    return Page(path, title, TEMPLATE, values, "page", [(title, path)])
