"""The whole site: its pages, and how they are written to one folder."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lextables.pipeline.atomic import replacing_folder
from lextables.report import datasets, layout, overview, runs, tables
from lextables.report.datasets import DataSet
from lextables.report.exhibits import Section
from lextables.report.layout import HOME, Page
from lextables.report.results import Part, RunRecord
from lextables.report.wording import banner
from lextables.tables import render

# A drawing in a separate file follows the reader's colour scheme.
INK = "<style>svg{color:#1b1d20}@media(prefers-color-scheme:dark){svg{color:#e6e4df}}</style>"


@dataclass(frozen=True)
class Material:
    """What the pages show.

    ``root`` is the folder of the results as commands name it.  ``made_by`` is the version of lextables and
    ``date`` the day of its commit.  ``sections`` are a paper's sections in addition to its tables, and
    ``leaderboard`` its page, if there is one.
    """

    config: Mapping[str, Any]
    root: str
    parts: Sequence[Part]
    runs: Sequence[RunRecord] = ()
    datasets: Sequence[DataSet] = ()
    sections: Mapping[str, Sequence[Section]] = field(default_factory=dict)
    leaderboard: Sequence[Page] = ()
    made_by: str = ""
    date: str = ""


def write(folder: str | Path, material: Material) -> None:
    """Write the site to ``folder``, which is replaced completely."""
    with replacing_folder(folder) as new:
        for path, text in files(material).items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_text(text, encoding="utf-8", newline="\n")


def files(material: Material) -> dict[str, str]:
    """Return the text of every file of the site by its path, in a fixed order."""
    around = {
        "menu": [
            ("Overview", HOME),
            *((part.short, overview.paper_path(part)) for part in material.parts),
            *((page.title, page.path) for page in material.leaderboard),
        ],
        "made_by": material.made_by,
        "date": material.date,
        "banner": banner(material.config, material.runs),
    }
    all_pages: list[Page] = []
    texts: dict[str, str] = {}

    def add(pages: Sequence[Page]) -> None:
        all_pages.extend(pages)
        texts.update((page.path, layout.html(page, around)) for page in pages)

    add(
        [
            overview.first_page(
                material.config,
                material.parts,
                material.runs,
                material.made_by,
                material.date,
            )
        ]
    )
    by_folder = {run.folder: run for run in material.runs}
    for part in material.parts:
        sections = material.sections.get(part.name, ())
        add(
            [
                overview.paper_page(
                    part, material.datasets, material.runs, sections, material.config
                )
            ]
        )
        for exhibit in part.exhibits:
            add([tables.page(part, exhibit, by_folder, material.config, material.root)])
    add(material.leaderboard)
    add(datasets.pages(material.datasets, material.parts, material.root))
    shown, reads = runs.shown_in(material.parts), runs.runs_read(material.runs)
    for run in material.runs:
        part = datasets.owner(run.paper, material.parts)
        trail = [(part.short, overview.paper_path(part))] if part else []
        add(
            [
                runs.page(
                    run, by_folder, shown, reads, trail, material.config, material.root
                )
            ]
        )
    texts |= {
        f"figures/{part.name}-{exhibit.name}.svg": drawing(exhibit.svg)
        for part in material.parts
        for exhibit in part.exhibits
        if exhibit.svg
    }
    texts[layout.STYLE] = render.STYLE + layout.beside("site.css")
    texts[layout.SCRIPT] = layout.beside("site.js")
    texts[layout.SEARCH] = search(all_pages)
    return texts


def drawing(svg: str, style: str = INK) -> str:
    """Return a drawing as a separate file, with two decimals."""
    svg = re.sub(r"(\d+\.\d{2})\d+", r"\1", svg)
    return re.sub(r"(<svg [^>]*>)", lambda tag: tag[1] + style, svg, count=1)


def search(pages: Sequence[Page]) -> str:
    """Return the index of the first page's search: [name, kind, place] of each entry."""
    entries = [(page.title, page.kind, page.path) for page in pages]
    entries += [
        (each.name, each.kind, each.place) for page in pages for each in page.found
    ]
    addresses = [
        (name, kind, layout.relative(HOME, place))
        for name, kind, place in dict.fromkeys(entries)
    ]
    lines = ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in addresses)
    return f"const FOUND = [\n{lines}\n];\n"
