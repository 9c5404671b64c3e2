"""The frame that all pages of the report share: head, breadcrumbs and relative links,
and how a page becomes html.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jinja2 import ChoiceLoader, FileSystemLoader
from markupsafe import Markup, escape

from lextables.report import wording
from lextables.tables import render

HERE = Path(__file__).parent  # the folder of the templates
TICKED = re.compile(r"`([^`]+)`")  # text between backticks, such as a column's name
FRAME = "layout.html.j2"
# Templates that other templates import.  Python does not read this name: it is here so
# that the fingerprint of a rule contains the file.
SHARED = ("parts.html.j2",)
HOME = "index.html"
FOLDER = "/results/report"  # placeholder of the site's folder
STYLE = "style.css"
Facts = list[tuple[str, str]]  # rows (name, text) of a table on a page


def ticked(text: str) -> Markup:
    """Return a text with backticks replaced by code elements."""
    return Markup(TICKED.sub(r"<code>\1</code>", str(escape(text))))


assert render.TEMPLATES.loader is not None
TEMPLATES = render.TEMPLATES.overlay(
    loader=ChoiceLoader([FileSystemLoader(HERE), render.TEMPLATES.loader])
)
TEMPLATES.filters.update(
    count="{:,}".format,
    duration=render.duration,
    outcome=wording.OUTCOMES.get,
    by_kind=wording.kinds_in_words,
    outcomes=wording.counts_in_words,
    plural=wording.PLURALS.get,
    spaced=lambda text: text.replace("_", " "),
    ticked=ticked,
)
TEMPLATES.globals["frame"] = FRAME


@dataclass(frozen=True)
class Link:
    """A name and the path of the page that it leads to."""

    name: str
    path: str


@dataclass(frozen=True)
class Frame:
    """What all pages show around their content.

    ``made_by`` is the version of lextables and ``date`` the day of its commit.
    ``banner`` is the warning on pages of the sample, empty for released data.
    """

    menu: Sequence[Link]
    made_by: str
    date: str
    banner: str


@dataclass(frozen=True)
class Page:
    """A page: its path below the site's folder, its title and its template.

    ``content`` is a data class; the template names its fields.  ``trail`` are its
    breadcrumbs from the second on.
    """

    path: str
    title: str
    template: str
    content: object
    trail: Sequence[Link] = ()


def html(page: Page, site: Frame) -> str:
    """Return the text of a page of a site.

    Templates write links with two functions: ``to`` for a place in the site, and
    ``file`` for a file of the results, whose folder contains that of the site.
    """

    def to(place: str) -> str:
        return relative(page.path, place)

    def file(path: str) -> str:
        return relative(page.path, f"../{path}")

    template = TEMPLATES.get_template(page.template)
    return template.render(**vars(page.content), page=page, site=site, to=to, file=file)


def relative(origin: str, place: str) -> str:
    """Return the relative address of ``place`` from the page at ``origin``.

    Both are paths below the site's folder.
    """
    path, _, anchor = place.partition("#")
    address = ""
    if path:
        # Below an absolute folder: relpath would resolve a leading `..` in the working
        # directory.
        start = posixpath.join(FOLDER, posixpath.dirname(origin))
        target = posixpath.join(FOLDER, path)
        address = quote(posixpath.relpath(target, start), safe="/")
    return f"{address}#{quote(anchor)}" if anchor else address
