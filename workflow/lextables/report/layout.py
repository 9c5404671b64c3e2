"""The frame of every page: its head, breadcrumbs, and relative links."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup, escape

from lextables.tables import render

HERE = Path(__file__).parent
TICKED = re.compile(r"`([^`]+)`")  # names of columns and similar
FRAME = "layout.html.j2"
# Included by other templates; a rule's fingerprint counts the files that the code names.
SHARED = ("parts.html.j2",)
TEMPLATES = render.TEMPLATES.overlay(
    loader=ChoiceLoader([FileSystemLoader(HERE), render.TEMPLATES.loader])
)
TEMPLATES.filters["count"] = lambda n: f"{n:,}"
TEMPLATES.filters["spaced"] = lambda text: text.replace("_", " ")
TEMPLATES.globals["frame"] = FRAME


def ticked(text: str) -> Markup:
    """Return a text with backticks replaced by code elements."""
    return Markup(TICKED.sub(r"<code>\1</code>", str(escape(text))))


TEMPLATES.filters["ticked"] = ticked
HOME = "index.html"
FOLDER = "/results/report"  # placeholder of the site's folder
STYLE, SCRIPT, SEARCH = "style.css", "site.js", "search.js"


@dataclass(frozen=True)
class Found:
    """An entry of the search: a name, its kind, and its place."""

    name: str
    kind: str
    place: str


@dataclass(frozen=True)
class Page:
    """A page: its path below the site's folder, its title, and the values of its template.

    ``trail`` are its breadcrumbs, as (name, path) from the second on; ``found`` are its search entries
    in addition to its title.
    """

    path: str
    title: str
    template: str
    values: Mapping[str, Any]
    kind: str
    trail: Sequence[tuple[str, str]] = ()
    found: Sequence[Found] = field(default_factory=tuple)


def html(page: Page, around: Mapping[str, Any]) -> str:
    """Return the text of a page; ``around`` are the values of the frame."""

    def to(place: str) -> str:
        return relative(page.path, place)

    def file(path: str) -> str:
        return relative(page.path, f"../{path}")

    template = TEMPLATES.get_template(page.template)
    return template.render(**around, **page.values, page=page, to=to, file=file)


def beside(name: str) -> str:
    """Return the text of a file in the folder of the templates."""
    return (HERE / name).read_text(encoding="utf-8")


def relative(origin: str, place: str) -> str:
    """Return the relative address of ``place`` from the page at ``origin``, both below the site's folder."""
    path, _, anchor = place.partition("#")
    # Both under one absolute folder: relpath would resolve a leading `..` in the working directory.
    start = posixpath.join(FOLDER, posixpath.dirname(origin))
    address = (
        quote(posixpath.relpath(posixpath.join(FOLDER, path), start), safe="/")
        if path
        else ""
    )
    return f"{address}#{quote(anchor)}" if anchor else address
