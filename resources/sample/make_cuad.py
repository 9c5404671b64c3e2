"""Make the sample of the CUAD release: ``python resources/sample/make_cuad.py``.

It writes ``data.zip``, ``CUAD_v1.zip`` and ``category_descriptions.csv`` to ``cuad/``,
from ``cuad/contracts.toml`` and ``cuad/categories.toml``, in the raw format of the
release: the same members (less label sheets, readme and a second copy of the SQuAD
file), keys, columns, question ids, quoting and line ends. The bytes depend on nothing
but those two files and this one.
"""

import argparse
import csv
import hashlib
import io
import json
import re
import textwrap
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
WRITTEN = (2025, 1, 15, 0, 0, 0)
OMITTED = " <omitted> "
# The wording of the release's questions, which is part of its format.
QUESTION = (
    'Highlight the parts (if any) of this contract related to "{name}" that should be reviewed by a lawyer.'
    " Details: {description}"
)
# In the clause table one category stands elsewhere than among the questions, and one
# heading has a blank.
AFTER = {"Competitive Restriction Exception": "Most Favored Nation"}
BLANK_BEFORE_ANSWER = "Notice Period To Terminate Renewal"

_MARK = re.compile(r"<(\+?)([A-Z][a-z][^<>]*)>|</>")


@dataclass(frozen=True)
class Span:
    """A marked span: its category, its characters, and whether it goes on with the
    clause before it.
    """

    category: str
    start: int
    end: int
    continues: bool


@dataclass(frozen=True)
class Contract:
    """One contract as ``contracts.toml`` has it."""

    title: str
    split: str
    release_folder: str
    pages: int
    marked: str
    answers: dict[str, str]
    file: str

    @cached_property
    def text(self) -> str:
        """The text without its marks."""
        return _MARK.sub("", self.marked).strip("\n")

    @cached_property
    def spans(self) -> list[Span]:
        """The marked spans in order of their starts."""
        found: list[Span] = []
        opened: list[tuple[str, str, int]] = []
        start, at, plain = 0, 0, ""
        marked = self.marked.strip("\n")
        for mark in _MARK.finditer(marked):
            plain += marked[start : mark.start()]
            start, at = mark.end(), len(plain)
            if mark[0] != "</>":
                opened.append((mark[1], mark[2], at))
                continue
            plus, categories, begun = opened.pop()
            if plain[begun:at] != plain[begun:at].strip():
                raise ValueError(
                    f"{self.title}: the span {plain[begun:at]!r} starts or ends with a blank"
                )
            found += [
                Span(category, begun, at, bool(plus))
                for category in categories.split("; ")
            ]
        if opened:
            raise ValueError(f"{self.title}: {opened[-1][1]} is not closed")
        return sorted(found, key=lambda span: (span.start, span.end))

    @property
    def pdf(self) -> str:
        """The PDF's path in the release, whose parts have folders of the same kind."""
        name, ending = self.file.strip("'").rsplit(".", 1)
        part = "I" * (1 + len(self.release_folder) % 3)
        return f"CUAD_v1/full_contract_pdf/Part_{part}/{self.release_folder}/{name}.{ending}"

    def of(self, category: str) -> list[Span]:
        """The spans of one category, in order of their starts."""
        return [span for span in self.spans if span.category == category]

    def clauses(self, category: str) -> list[str]:
        """The clauses of one category as the clause table has them: pieces of one are
        joined.
        """
        clauses: list[str] = []
        for span in self.of(category):
            piece = self.text[span.start : span.end]
            if span.continues:
                clauses[-1] += OMITTED + piece
            else:
                clauses.append(piece)
        return clauses


def categories() -> list[dict[str, str]]:
    """Return the categories in the order of the questions, with the defaults filled
    in.
    """
    usual = {"answer_format": "Yes/No", "group": "-"}
    return [
        usual | {"title": entry["name"]} | entry
        for entry in tomllib.loads((HERE / "cuad/categories.toml").read_text("utf-8"))[
            "category"
        ]
    ]


def contracts() -> list[Contract]:
    """Return the contracts in the file's order; each mark must name a category."""
    names = {category["name"] for category in categories()}
    made = []
    for entry in tomllib.loads((HERE / "cuad/contracts.toml").read_text("utf-8"))[
        "contract"
    ]:
        entry = {"file": f"{entry['title']}.pdf"} | entry
        contract = Contract(marked=entry.pop("text"), **entry)
        for name in [*(span.category for span in contract.spans), *contract.answers]:
            if name not in names:
                raise ValueError(f"{contract.title}: {name!r} is no category")
        made.append(contract)
    return made


def files() -> dict[str, bytes]:
    """Return the three files by name."""
    asked, written = categories(), contracts()
    questions = {
        "CUADv1.json": _squad(_entry(contract, asked) for contract in written),
        "test.json": _squad(
            _entry(contract, asked) for contract in written if contract.split == "test"
        ),
        "train_separate_questions.json": _squad(
            _entry(contract, asked, separate=True)
            for contract in written
            if contract.split == "train"
        ),
    }
    release = {
        f"CUAD_v1/full_contract_txt/{contract.title}.txt": contract.text.encode()
        for contract in written
    }
    release |= {
        contract.pdf: _pdf(contract.text, contract.pages) for contract in written
    }
    release["CUAD_v1/master_clauses.csv"] = _csv(_clause_table(written, asked), "\n")
    described = [
        ("Category (incl. context and answer)", "Description", "Answer Format", "Group")
    ]
    described += [
        (
            f"Category: {category['title']}",
            f"Description: {category['description']}",
            # Where the release says nothing, a no-break space stands.
            f"Answer Format: {category['answer_format']}"
            if category["answer_format"]
            else "Answer Format:\xa0",
            f"Group: {category['group']}",
        )
        for category in asked
    ]
    return {
        "data.zip": _zip(questions),
        "CUAD_v1.zip": _zip(release),
        # With a byte order mark, and without a line end after the last line, like the
        # release's.
        "category_descriptions.csv": b"\xef\xbb\xbf"
        + _csv(described, "\r\n").removesuffix(b"\r\n"),
    }


def _entry(
    contract: Contract, asked: list[dict[str, str]], separate: bool = False
) -> dict[str, Any]:
    """A contract with its questions; with ``separate``, an answer is a numbered
    question of its own.
    """
    questions = []
    for category in asked:
        answers = [
            {"text": contract.text[span.start : span.end], "answer_start": span.start}
            for span in contract.of(category["name"])
        ]
        question_id = f"{contract.title}__{category['name']}"
        parts = {question_id: answers}
        if separate:
            parts = {
                f"{question_id}_{i}": [answer] for i, answer in enumerate(answers)
            } or {f"{question_id}_0": []}
        for part_id, part in parts.items():
            questions.append(
                {
                    "answers": part,
                    "id": part_id,
                    "question": QUESTION.format(**category),
                    "is_impossible": not part,
                }
            )
    return {
        "title": contract.title,
        "paragraphs": [{"qas": questions, "context": contract.text}],
    }


def _squad(entries: Iterable[dict[str, Any]]) -> bytes:
    return json.dumps({"version": "aok_v1.0", "data": list(entries)}).encode()


def _clause_table(
    written: list[Contract], asked: list[dict[str, str]]
) -> list[list[str]]:
    order = [category["name"] for category in asked]
    for name, before in AFTER.items():
        order.remove(name)
        order.insert(order.index(before) + 1, name)
    yes_or_no = {
        category["name"]
        for category in asked
        if category["answer_format"] in ("Yes/No", "")
    } | {"Warranty Duration"}
    rows = [["Filename"]]
    for name in order:
        rows[0] += [name, f"{name}-{' ' * (name == BLANK_BEFORE_ANSWER)}Answer"]
    for contract in sorted(written, key=lambda contract: contract.release_folder):
        row = [contract.file]
        for name in order:
            clauses = contract.clauses(name)
            usual = ("Yes" if clauses else "No") if name in yes_or_no else ""
            row += [repr(clauses), contract.answers.get(name, usual)]
        rows.append(row)
    return rows


def _pdf(text: str, pages: int) -> bytes:
    """Return a PDF of the text on so many pages, in one of the fonts that every reader
    has.
    """
    lines = []
    for line in text.split("\n"):
        escaped = [
            re.sub(r"([()\\])", r"\\\1", part) for part in textwrap.wrap(line, 90)
        ]
        lines += escaped or [""]
    on_a_page = -(-len(lines) // pages)
    # 1 is the catalogue, 2 the tree of pages, 3 the font; then come each page and what
    # stands on it.
    numbers = range(4, 4 + 2 * pages, 2)
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {pages} /Kids [{kids}] >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding /WinAnsiEncoding >>",
    ]
    for page, number in enumerate(numbers):
        start = page * on_a_page
        shown = "\n".join(f"({line}) '" for line in lines[start : start + on_a_page])
        content = f"BT /F1 10 Tf 12 TL 60 780 Td\n{shown}\nET".encode("cp1252")
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 842] /Contents {number + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(content), content),
        ]
    made, starts = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        starts.append(len(made))
        made += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    size = len(objects) + 1
    return (
        made
        + (
            f"xref\n0 {size}\n0000000000 65535 f \n{table}"
            f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(made)}\n%%EOF\n"
        ).encode()
    )


def _csv(rows: Iterable[Iterable[str]], line_end: str) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator=line_end).writerows(rows)
    return text.getvalue().encode()


def _zip(entries: dict[str, bytes]) -> bytes:
    """Return a zip of the entries, sorted by name, each with the same time and
    rights.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return made.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the sample of the CUAD release.")
    parser.add_argument(
        "folder",
        nargs="?",
        type=Path,
        default=HERE / "cuad",
        help="where to write the three files",
    )
    folder = parser.parse_args().folder
    for name, made in files().items():
        (folder / name).write_bytes(made)
        print(
            f"{folder / name}: {len(made)} bytes, sha256 {hashlib.sha256(made).hexdigest()}"
        )


if __name__ == "__main__":
    main()
