"""Make the sample of case law: ``python resources/sample/make_caselaw.py``.

It writes ``caselaw/<reporter>/<volume>.zip`` from ``caselaw/opinions.toml`` and
``caselaw/state.toml``, in the layout of static.case.law: metadata, and each case once
as JSON and once as HTML with the labels of its printed pages.  The bytes depend on
nothing but those files and this one.
"""

import argparse
import hashlib
import io
import json
import re
import tomllib
import zipfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
WRITTEN = (2025, 1, 15, 0, 0, 0)
FILES = ("opinions", "state")
PUBLISHER = "sample of lextables: fictitious opinions"

_PAGE = re.compile(r"\{(\d+)\} ?")


@dataclass(frozen=True)
class Reporter:
    """A series of volumes: its name in citations, title, court, and above what the ids
    of its cases are.
    """

    short: str
    title: str
    jurisdiction: dict[str, Any]
    court: dict[str, Any]
    above: int


REPORTERS = {
    "us": Reporter(
        "U.S.",
        "United States Reports",
        {"id": 39, "name_long": "United States", "name": "U.S."},
        {
            "name_abbreviation": "U.S.",
            "id": 9009,
            "name": "Supreme Court of the United States",
        },
        0,
    ),
    "ill": Reporter(
        "Ill.",
        "Illinois Reports",
        {"id": 29, "name_long": "Illinois", "name": "Ill."},
        {"name_abbreviation": "Ill.", "id": 8837, "name": "Illinois Supreme Court"},
        100_000_000,
    ),
}


@dataclass(frozen=True)
class Opinion:
    """One opinion: its type, and its paragraphs with ``{102}`` where a page starts, the
    author's first.
    """

    kind: str
    author: str
    paragraphs: tuple[str, ...]

    @property
    def text(self) -> str:
        """The paragraphs without the marks of pages, a line each."""
        return "\n".join(_PAGE.sub("", paragraph) for paragraph in self.paragraphs)


@dataclass(frozen=True)
class Case:
    """One case of a volume, in the order of its pages."""

    slug: str
    volume: int
    first: int
    last: int
    name: str
    short: str
    date: str
    parallel: str | None
    opinions: tuple[Opinion, ...]
    order: int

    @property
    def reporter(self) -> Reporter:
        return REPORTERS[self.slug]

    @property
    def id(self) -> int:
        return self.reporter.above + self.volume * 100_000 + self.first

    @property
    def file_name(self) -> str:
        return f"{self.first:04}-01"

    @property
    def metadata(self) -> dict[str, Any]:
        """The case as ``CasesMetadata.json`` lists it."""
        citations = [
            {
                "type": "official",
                "cite": f"{self.volume} {self.reporter.short} {self.first}",
            }
        ]
        if self.parallel:
            citations.append({"type": "parallel", "cite": self.parallel})
        return {
            "id": self.id,
            "name": self.name,
            "name_abbreviation": self.short,
            "decision_date": self.date,
            "docket_number": "",
            "first_page": str(self.first),
            "last_page": str(self.last),
            "citations": citations,
            "court": self.reporter.court,
            "jurisdiction": self.reporter.jurisdiction,
            "cites_to": [],
            "analysis": {},
            "file_name": self.file_name,
            "first_page_order": self.order,
            "last_page_order": self.order,
        }

    @property
    def json(self) -> str:
        opinions = [
            {"type": o.kind, "author": o.author, "text": o.text} for o in self.opinions
        ]
        body = {
            "judges": [],
            "parties": [self.name],
            "attorneys": [],
            "corrections": "",
            "head_matter": self.name,
            "opinions": opinions,
        }
        return (
            json.dumps(
                {**self.metadata, "casebody": body}, indent=1, ensure_ascii=False
            )
            + "\n"
        )

    @property
    def html(self) -> str:
        lines = [
            f'<section class="casebody" data-case-id="{self.id}" '
            f'data-firstpage="{self.first}" data-lastpage="{self.last}">',
            '  <section class="head-matter">',
            f'    <h4 class="parties" id="b{self.first}-1">{escape(self.name)}</h4>',
            "  </section>",
        ]
        for number, opinion in enumerate(self.opinions):
            lines.append(f'  <article class="opinion" data-type="{opinion.kind}">')
            for at, paragraph in enumerate(opinion.paragraphs):
                kind = ' class="author"' if at == 0 else ""
                text = _PAGE.sub(_label, escape(paragraph))
                lines.append(
                    f'    <p{kind} id="b{self.first}-{number}-{at}">{text}</p>'
                )
            lines.append("  </article>")
        return "\n".join([*lines, "</section>"]) + "\n"


def _label(match: re.Match[str]) -> str:
    page = match[1]
    return (
        f'<a id="p{page}" href="#p{page}" data-label="{page}" data-citation-index="1" '
        f'class="page-label">*{page}</a> '
    )


def cases() -> list[Case]:
    """Return the cases of the files, in their order.

    Raises ValueError where the marked pages of a case do not count on from its first
    page, or a case starts on a page of the one before.
    """
    made: list[Case] = []
    all_written = []
    for name in FILES:
        text = (HERE / f"caselaw/{name}.toml").read_text("utf-8")
        all_written += tomllib.loads(text)["case"]
    for written in all_written:
        opinions = tuple(map(_opinion, written["opinions"]))
        first = written["first"]
        pages = [first]
        for opinion in opinions:
            pages += _pages(opinion)
        if pages != list(range(first, first + len(pages))):
            raise ValueError(f"{written['name']}: its pages are {pages}")
        slug, volume = written.get("reporter", "us"), written["volume"]
        order = sum((case.slug, case.volume) == (slug, volume) for case in made)
        case = Case(
            slug,
            volume,
            first,
            pages[-1],
            written["name"],
            written["short"],
            written["date"],
            written.get("parallel"),
            opinions,
            order,
        )
        made.append(case)
    for one, other in pairwise(made):
        end, start = (one.volume, one.last), (other.volume, other.first)
        if one.slug == other.slug and start <= end:
            raise ValueError(f"{other.name} starts before {one.name} ends")
    return made


def _opinion(written: dict[str, str]) -> Opinion:
    """The opinion of an entry: its author is also its first paragraph."""
    paragraphs = [written["author"]]
    for part in written["text"].split("\n\n"):
        paragraphs.append(" ".join(part.split()))
    return Opinion(written["type"], written["author"], tuple(paragraphs))


def _pages(opinion: Opinion) -> list[int]:
    """The pages that an opinion's paragraphs mark."""
    return list(map(int, _PAGE.findall("\n".join(opinion.paragraphs))))


def build() -> dict[str, bytes]:
    """Return the bytes of each volume, by its path in a mirror's folder ``caselaw``."""
    volumes: dict[str, list[Case]] = {}
    for case in cases():
        volumes.setdefault(f"{case.slug}/{case.volume}.zip", []).append(case)
    return {path: _volume(of_volume) for path, of_volume in volumes.items()}


def _volume(cases: list[Case]) -> bytes:
    slug, number, reporter = cases[0].slug, cases[0].volume, cases[0].reporter
    about = {
        "volume_number": str(number),
        "title": reporter.title,
        "publisher": PUBLISHER,
        "publication_year": int(cases[0].date[:4]),
        "jurisdictions": [reporter.jurisdiction],
        "id": f"{slug}-{number}",
        "redacted": False,
    }
    entries = {
        "metadata/VolumeMetadata.json": json.dumps(about) + "\n",
        "metadata/CasesMetadata.json": json.dumps(
            [case.metadata for case in cases], indent=1
        )
        + "\n",
    }
    for case in cases:
        entries[f"html/{case.file_name}.html"] = case.html
        entries[f"json/{case.file_name}.json"] = case.json
    return _zip(entries)


def _zip(entries: dict[str, str]) -> bytes:
    """Return a zip of the entries, sorted by name, each with the same time and
    rights.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content.encode(), zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample of case law.")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=HERE / "caselaw",
        help="where to write the folders of reporters",
    )
    folder = parser.parse_args().folder
    for name, made in build().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made)
        print(f"{path}: {len(made)} bytes, sha256 {hashlib.sha256(made).hexdigest()}")


if __name__ == "__main__":
    main()
