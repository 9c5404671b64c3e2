"""The whole site: its pages, and how they are written to one folder."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lextables.pipeline.atomic import replacing_folder
from lextables.report import datasets, layout, overview, runs, tables
from lextables.report.commands import Settings
from lextables.report.datasets import DataSet
from lextables.report.exhibits import Section
from lextables.report.headlines import Finding
from lextables.report.layout import HOME, Frame, Link, Page
from lextables.report.results import Part, RunRecord
from lextables.report.wording import banner
from lextables.tables import render

# A drawing in a separate file follows the reader's colour scheme.
INK = (
    "<style>svg{color:#1b1d20}"
    "@media(prefers-color-scheme:dark){svg{color:#e6e4df}}</style>"
)


@dataclass(frozen=True)
class Material:
    """What the pages show.

    ``root`` is the folder of the results as commands name it.  ``made_by`` is the
    version of lextables and ``date`` the day of its commit.  ``sections`` are {paper:
    sections of its page in addition to its tables}.  ``leaderboard`` has the page of
    the leaderboard, if there is one.  ``findings`` are shown on the first page.
    """

    config: Settings
    root: str
    parts: Sequence[Part]
    runs: Sequence[RunRecord] = ()
    datasets: Sequence[DataSet] = ()
    sections: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    leaderboard: Sequence[Page] = ()
    findings: Sequence[Finding] = ()
    made_by: str = ""
    date: str = ""


def write(folder: str | Path, material: Material) -> None:
    """Write the site to ``folder``, which is replaced completely.

    If ``folder`` is a symbolic link, the folder that it points to is replaced.
    """
    with replacing_folder(Path(folder).resolve()) as new:
        for path, text in files(material).items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_text(text, encoding="utf-8", newline="\n")


def files(material: Material) -> dict[str, str]:
    """Return the text of every file of the site by its path, in a fixed order."""
    menu = [Link("Overview", HOME)]
    menu += [Link(part.short, overview.paper_path(part)) for part in material.parts]
    menu += [Link(page.title, page.path) for page in material.leaderboard]
    frame = Frame(
        menu, material.made_by, material.date, banner(material.config, material.runs)
    )
    texts = {page.path: layout.html(page, frame) for page in pages(material)}
    for part in material.parts:
        for exhibit in part.exhibits:
            if exhibit.svg:
                texts[tables.drawing_path(part, exhibit)] = drawing(exhibit.svg)
    style = (layout.HERE / "site.css").read_text(encoding="utf-8")
    texts[layout.STYLE] = render.STYLE + style
    return texts


def pages(material: Material) -> list[Page]:
    """Return all pages of the site, in a fixed order."""
    config = material.config
    root = material.root
    by_folder = {run.folder: run for run in material.runs}
    site_pages = [
        overview.first_page(
            config,
            material.parts,
            material.runs,
            material.findings,
            material.made_by,
            material.date,
        )
    ]
    for part in material.parts:
        sections = material.sections.get(part.name, ())
        site_pages.append(
            overview.paper_page(
                part, material.datasets, material.runs, sections, config
            )
        )
        for exhibit in part.exhibits:
            site_pages.append(tables.page(part, exhibit, by_folder, config, root))
    site_pages += material.leaderboard
    for dataset in material.datasets:
        site_pages.append(datasets.page(dataset, material.parts, root))
    links = runs.Links.of(material.parts, material.runs)
    for run in material.runs:
        site_pages.append(runs.page(run, links, config, root))
    return site_pages


def _with_two_decimals(tag: re.Match[str]) -> str:
    return re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0])


def drawing(svg: str, style: str = INK) -> str:
    """Return the svg text of a drawing in a file of its own.

    Coordinates are cut to two decimals; numbers in the drawing's texts are unchanged.
    """
    svg = re.sub(r"<[^>]+>", _with_two_decimals, svg)
    return re.sub(r"(<svg [^>]*>)", lambda tag: tag[1] + style, svg, count=1)
