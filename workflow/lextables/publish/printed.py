"""What the papers printed, cell by cell, as one tidy csv with its card and Croissant metadata."""

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mlcroissant as mlc
import pyarrow as pa
import yaml

from lextables.pipeline.atomic import replacing_folder
from lextables.publish.card import SPLIT, cell, front_matter, size
from lextables.publish.croissant import as_json, field, file_object
from lextables.publish.export import LICENCES, SAMPLE_LICENCE
from lextables.tables.published import PublishedCell, load

NAME = "printed"
FILE = "printed.csv"
TITLE = "What legal-NLP papers printed, cell by cell"
COLUMNS = {
    "paper": (pa.string(), "the paper, by the name of its file in lextables"),
    "table": (pa.string(), "the table or figure"),
    "row": (pa.string(), "the row, as printed"),
    "column": (pa.string(), "the column, as printed"),
    "value": (pa.string(), "the value as printed, less its markup"),
    "number": (pa.float64(), "the printed number in the table's own unit, 54.0 for `54.0%`; empty for text"),
    "margin": (pa.float64(), "the printed error of `0.742 ± 0.014`; empty where none is printed"),
    "decimals": (
        pa.int64(),
        "how many decimals are printed, or were before trailing zeros were dropped; empty for text",
    ),
    "where": (
        pa.string(),
        "page, section or line of the paper that it was read from, with any remark on the reading",
    ),
}


@dataclass(frozen=True)
class PrintedPaper:
    """A paper: its name, its title, how to cite it, and the cells of its tables."""

    name: str
    title: str
    citation: str
    cells: Sequence[PublishedCell]


def gather(published: Iterable[str | Path], papers: Iterable[str | Path]) -> list[PrintedPaper]:
    """Read the printed values of each paper that has any, and the paper's own file."""
    found = []
    for values, paper in zip(published, papers, strict=True):
        if cells := load(values):
            entry = yaml.safe_load(Path(paper).read_text(encoding="utf-8"))
            found.append(PrintedPaper(Path(paper).stem, entry["title"], entry["citation"], cells))
    return found


def write(papers: Sequence[PrintedPaper], folder: str | Path) -> None:
    """Write the csv, the card and the metadata; the folder appears whole, or keeps what it held before."""
    with replacing_folder(folder) as out:
        with (out / FILE).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(COLUMNS)
            rows.writerows(row(paper.name, one) for paper in papers for one in paper.cells)
        for name, text in {
            "README.md": card(papers),
            "croissant.json": croissant(papers, out / FILE),
        }.items():
            (out / name).write_text(text, encoding="utf-8", newline="\n")


def row(paper: str, one: PublishedCell) -> list[str | float | int | None]:
    """A cell as a row of the csv, in the order of `COLUMNS`."""
    return [paper, one.table, one.row, one.column, one.value, one.number, one.margin, one.decimals, one.where]


def card(papers: Sequence[PrintedPaper]) -> str:
    """The card of the printed values."""
    count = sum(len(paper.cells) for paper in papers)
    head = front_matter(
        {
            "pretty_name": TITLE,
            "language": ["en"],
            "license": LICENCES[SAMPLE_LICENCE][0],
            "size_categories": [size(count)],
            "tags": ["legal", "reproducibility", "croissant"],
            "configs": [{"config_name": NAME, "data_files": [{"split": SPLIT, "path": FILE}]}],
        }
    )
    columns = [f"| `{name}` | {kind} | {text} |" for name, (kind, text) in COLUMNS.items()]
    held = [
        f"| `{paper.name}` | {len({one.table for one in paper.cells})} | {len(paper.cells):,} "
        f"| {cell(paper.citation)} |"
        for paper in papers
    ]
    lines = [
        f"# {TITLE}",
        "",
        f"{count:,} printed values of {len(papers)} papers, transcribed from the papers' own text: each "
        "stands as it was printed, beside the number that it is and the place that it was read from. None "
        "is corrected or rounded; what is a fault of the print stays, and `where` remarks on it.",
        "",
        "| column | type | what it holds |",
        "|---|---|---|",
        *columns,
        "",
        "| paper | tables and figures | values | citation |",
        "|---|---:|---:|---|",
        *held,
        "",
        "The numbers are the papers' findings: cite the paper whose values you use. The transcription is "
        "under the Apache License 2.0. A text that begins with `=`, `+`, `-` or `@` is a printed one: have "
        "a spreadsheet program read the columns as text.",
    ]
    return head + "\n".join(lines) + "\n"


def croissant(papers: Sequence[PrintedPaper], path: Path) -> str:
    """The metadata of the csv at ``path``."""
    fields = [field(f"{NAME}/{name}", name, text, kind, NAME, name) for name, (kind, text) in COLUMNS.items()]
    return as_json(
        NAME,
        f"{TITLE}: {', '.join(paper.title for paper in papers)}.",
        distribution=[file_object(NAME, path, FILE, "text/csv")],
        record_sets=[mlc.RecordSet(id=NAME, name=NAME, description=TITLE, fields=fields)],
        license=[LICENCES[SAMPLE_LICENCE][1]],
        cite_as="\n".join(paper.citation for paper in papers),
        keywords=["legal", "reproducibility"],
        in_language=["en"],
    )
