"""Make the sample of the ACORD release: ``python resources/sample/make_acord.py``.

It writes ``acord/ACORD.zip`` from ``acord/queries.toml`` and ``acord/clauses.toml``, in
the raw format of the release: the same folder, file names, columns, quoting and line
ends, a workbook laid out like the release's. The bytes depend on nothing but those two
files and this one.
"""

import argparse
import csv
import hashlib
import io
import json
import re
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).resolve().parent
FOLDER = "ACORD Dataset & ReadMe (external)"
WORKBOOK = "supplemental materials/ACORD 2-5 Star Clause Pairs.xlsx"
FORMATS = "supplemental materials/acord query (short_medium_long).tsv"
WRITTEN = (2025, 1, 15, 0, 0, 0)

# The most clauses of its own category that are two stars for a query, and the bounds of
# all its judgements.
TWO_STARS = 15
JUDGED = range(44, 89)

# First cells of the workbook's sheets, and the name it gives each category.
CORNERS = {
    "Limitation of Liability Part I": (None, "Clauses "),
    "Limitation of Liability Part II": ("Query", "Clauses "),
    "Sheet7": ("Query ", "Clauses "),
    "Limitation of Liability Part IV": ("Query", "Clauses"),
}
OTHER = "Other Categories"
IN_OTHER = {
    "Term": "Term & termination clause",
    "Liquidated Damages": "Liquidated damages clause",
    "third party beneficiary clause": "Third party beneficiary clause",
    "IP Ownership/License": "IP ownership/license clause",
}

# The release's workbook has a formula, a rating of no clause and a clause of no rating;
# so does the sample's.
FORMULA_BELOW, RATING_OF_NONE, CLAUSE_UNRATED = "cap", "non_compete", "control"

PARTIES = [
    ("Supplier", "Customer"),
    ("Licensor", "Licensee"),
    ("Tallow Creek", "Fenmoor Retail"),
    ("Vendor", "Buyer"),
    ("Contractor", "Owner"),
    ("Quillstone Labs", "Northmere"),
    ("Company", "Distributor"),
    ("Provider", "Client"),
]
FILLERS = {
    "product": [
        "Products",
        "Goods",
        "Machines",
        "Components",
        "Deliverables",
        "Licensed Items",
    ],
    "amount": [
        "$75,000",
        "$250,000",
        "one million dollars ($1,000,000)",
        "$3,500,000",
        "EUR 400,000",
    ],
    "days": ["ten (10)", "fifteen (15)", "thirty (30)", "45", "sixty (60)"],
    "months": ["six (6)", "twelve (12)", "eighteen (18)", "24"],
    "years": ["two (2)", "three (3)", "five (5)"],
    "percent": ["1%", "two percent (2%)", "five percent (5%)", "7.5%"],
    "count": ["400", "1,200", "5,000", "twenty thousand (20,000)"],
    "miles": ["25", "fifty (50)", "one hundred (100)"],
    "place": [
        "Dayton, Ohio",
        "Tacoma, Washington",
        "Biloxi, Mississippi",
        "Duluth, Minnesota",
    ],
    "state": ["Oregon", "Ohio", "Vermont", "Nebraska"],
}


@dataclass(frozen=True)
class Clause:
    """One clause: its text as the workbook has it, and its average rating for each
    query that it answers.
    """

    category: str
    sheet_text: str
    rated: dict[str, float]

    @property
    def text(self) -> str:
        """The text as the corpus has it: single spaces, and no blank line between
        paragraphs.
        """
        return re.sub(r"\n+", "\n", re.sub(r" +", " ", self.sheet_text))

    @property
    def id(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:10]


def clauses() -> list[Clause]:
    """Return every copy of every text of ``clauses.toml``, in the file's order."""
    made = []
    texts = tomllib.loads((HERE / "acord/clauses.toml").read_text("utf-8"))["clause"]
    for number, written in enumerate(texts):
        rated: dict[str, list[float]] = written["rated"]
        for copy in range(max(map(len, rated.values()), default=1)):
            text = _fill(written["text"].strip(), number, copy)
            stars = {query: ratings[copy] for query, ratings in rated.items()}
            made.append(Clause(written["of"], text, stars))
    if len({clause.id for clause in made}) != len(made):
        raise ValueError(
            "two clauses of clauses.toml have the same text: give one more choices or slots"
        )
    return made


def queries() -> list[dict[str, str]]:
    """Return the queries of ``queries.toml``, in the file's order."""
    return tomllib.loads((HERE / "acord/queries.toml").read_text("utf-8"))["query"]


def _fill(text: str, number: int, copy: int) -> str:
    """Return copy ``copy`` of text ``number`` with its choices and slots filled; copies
    take turns.
    """

    def pick(options: list, what: str):
        first = int(_key(str(number), what)[:8], 16)
        return options[(first + copy) % len(options)]

    def choice(match: re.Match) -> str:
        return pick(match[1].split("|"), f"choice at {match.start()}")

    slots = dict(zip("ab", pick(PARTIES, "parties"), strict=True))
    for slot, options in FILLERS.items():
        slots[slot] = pick(options, slot)
    # "{A}" is the party of "{a}" in capitals.
    for slot, filler in list(slots.items()):
        slots[slot.upper()] = filler.upper()
    chosen = re.sub(r"\[([^\]]*\|[^\]]*)\]", choice, text)
    return re.sub(r"\{(\w+)\}", lambda match: slots[match[1]], chosen)


def _key(*parts: str) -> str:
    """A hash to sort or to choose by, the same on every machine."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def judgements(
    query: dict[str, str], number: int, corpus: list[Clause]
) -> list[tuple[Clause, float]]:
    """Return the clauses judged for the query of that number, with their average stars.

    First the clauses that answer it, then two-star clauses of its category, then
    one-star clauses of the other categories, as many as bring the sum within
    ``JUDGED``.
    """
    key = query["key"]
    answers, helpful, others = [], [], []
    for clause in sorted(corpus, key=lambda clause: _key(key, clause.id)):
        if key in clause.rated:
            answers.append((clause, clause.rated[key]))
        elif clause.category == query["category"]:
            helpful.append((clause, 2.0))
        if clause.category != query["category"]:
            others.append((clause, 1.0))
    chosen = answers + helpful[:TWO_STARS]
    judged = JUDGED[number * 37 % len(JUDGED)]
    return chosen + others[: judged - len(chosen)]


def score(stars: float) -> int:
    """The release's score: the average of the ratings, rounded half up to whole stars,
    less one.
    """
    return int(stars + 0.5) - 1


def files() -> dict[str, bytes]:
    """Return the files of the release by their path below its folder."""
    asked = queries()
    corpus = sorted(clauses(), key=lambda clause: clause.id)
    judged = {}
    for number, query in enumerate(asked):
        judged[query["key"]] = judgements(query, number, corpus)
    records = [{"_id": clause.id, "text": clause.text} for clause in corpus]
    made = {
        "queries.jsonl": _json_lines(map(_query_record, sorted(asked, key=_type))),
        "corpus.jsonl": _json_lines(records),
        WORKBOOK: _workbook(asked, judged),
    }
    for split in ("train", "valid", "test"):
        rows = [("query-id", "corpus-id", "score")]
        for query in sorted(asked, key=lambda query: query["title"]):
            if query["split"] == split:
                for clause, stars in judged[query["key"]]:
                    rows.append((query["title"], clause.id, score(stars)))
        made[f"qrels/{split}.tsv"] = _tsv(rows)
    formats = [("ACORD Query", "Medium Format", "Long Format")]
    for query in asked:
        title = query.get("in_formats", query["title"])
        formats.append((title, query["medium"], query["long"]))
    # Not quoted, and without a line end after the last line, like the release's.
    made[FORMATS] = "\r\n".join("\t".join(fields) for fields in formats).encode()
    return made


def _type(query: dict[str, str]) -> str:
    """The release's mark of where a query's clauses come from; it lists those of the
    first kind first.
    """
    return (
        "cuad2"
        if query["category"] in ("Limitation of Liability", "Indemnification")
        else "cuad1"
    )


def _query_record(query: dict[str, str]) -> dict:
    metadata = {
        "category": query["category"],
        "parent_query_id": "",
        "type": _type(query),
        "split": query["split"],
    }
    return {"_id": query["title"], "text": query["title"], "metadata": metadata}


def _json_lines(records: Iterable[dict]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _tsv(rows: Iterable[tuple]) -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter="\t", lineterminator="\r\n").writerows(rows)
    return text.getvalue().encode()


def _workbook(
    asked: list[dict[str, str]], judged: dict[str, list[tuple[Clause, float]]]
) -> bytes:
    """Return the workbook of clauses of two to five stars: a column of clauses and one
    of ratings a query.
    """
    sheets: dict[str, dict[tuple[int, int], str | float | None]] = {}
    for name in [*CORNERS, OTHER]:
        # The last sheet has a row of categories above that of the queries, and no
        # column before them.
        top, column = 1, 2
        cells = sheets[name] = {}
        if name == OTHER:
            top, column = 2, 1
        else:
            cells[1, 1], cells[2, 1] = CORNERS[name]
        for query in asked:
            if query["sheet"] != name:
                continue
            if name == OTHER:
                cells[1, column] = IN_OTHER.get(query["category"], query["category"])
            cells[top, column] = query.get("in_sheet", query["title"])
            cells[top, column + 1] = "Rating"
            rows = []
            for clause, stars in judged[query["key"]]:
                if stars >= 2:
                    rows.append((clause.sheet_text, stars))
            if query["key"] == CLAUSE_UNRATED:
                last = max(at for at, (_, stars) in enumerate(rows) if stars > 2)
                text, _ = rows.pop(last)
                rows.append((text, None))
            if query["key"] == RATING_OF_NONE:
                rows.append((None, 0.0))
            if query["key"] == FORMULA_BELOW:
                rows += [(None, None), ("=SUM(C40:G40)", None)]
            for row, (text, stars) in enumerate(rows, start=top + 1):
                cells[row, column] = text
                cells[row, column + 1] = stars
            column += 2
    return _xlsx(sheets)


def _xlsx(sheets: dict[str, dict[tuple[int, int], str | float | None]]) -> bytes:
    """Return an Office Open XML workbook of the sheets' cells, given by (row, column)
    from 1.

    Written by hand because every library stamps the time of writing into it.  Its parts
    are stored, not deflated: the zip around it deflates them.
    """
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    strings: dict[str, int] = {}
    parts: dict[str, str] = {}
    for number, cells in enumerate(sheets.values(), start=1):
        rows: dict[int, str] = {}
        for (row, column), value in sorted(cells.items()):
            at = f'r="{_letters(column)}{row}"'
            if value is None:
                continue
            if isinstance(value, float):
                cell = f"<c {at}><v>{value}</v></c>"
            elif value.startswith("="):
                cell = f"<c {at}><f>{escape(value[1:])}</f><v>0.0</v></c>"
            else:
                index = strings.setdefault(value, len(strings))
                cell = f'<c {at} t="s"><v>{index}</v></c>'
            rows[row] = rows.get(row, "") + cell
        data = "".join(f'<row r="{row}">{cells}</row>' for row, cells in rows.items())
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>'
        )
    items = "".join(
        f'<si><t xml:space="preserve">{escape(string)}</t></si>' for string in strings
    )
    parts["xl/sharedStrings.xml"] = (
        f'<sst xmlns="{main}" uniqueCount="{len(strings)}">{items}</sst>'
    )
    types = {"xl/workbook.xml": "sheet.main", "xl/sharedStrings.xml": "sharedStrings"}
    listed, targets = "", []
    for number, name in enumerate(sheets, start=1):
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="rId{number}"/>'
        part = f"worksheets/sheet{number}.xml"
        targets.append(("worksheet", part))
        types[f"xl/{part}"] = "worksheet"
    parts["xl/workbook.xml"] = (
        f'<workbook xmlns="{main}" xmlns:r="{relations}">'
        f"<sheets>{listed}</sheets></workbook>"
    )
    targets.append(("sharedStrings", "sharedStrings.xml"))
    parts["xl/_rels/workbook.xml.rels"] = _relationships(package, relations, targets)
    book = [("officeDocument", "xl/workbook.xml")]
    parts["_rels/.rels"] = _relationships(package, relations, book)
    overrides = "".join(
        f'<Override PartName="/{part}" ContentType="{kind}.{type_}+xml"/>'
        for part, type_ in types.items()
    )
    parts["[Content_Types].xml"] = (
        f'<Types xmlns="{package}/content-types">'
        '<Default Extension="xml" ContentType="application/xml"/>'
        '<Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        f"{overrides}</Types>"
    )
    encoded = {name: (head + text).encode() for name, text in parts.items()}
    return _zip(encoded, zipfile.ZIP_STORED)


def _relationships(package: str, relations: str, targets: list[tuple[str, str]]) -> str:
    """Return the part with the relationships to ``targets``, (kind, part)."""
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{relations}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{package}/relationships">{listed}</Relationships>'


def _letters(column: int) -> str:
    """The letters of a column of a sheet: 1 is A, 26 is Z, 27 is AA."""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _zip(entries: dict[str, bytes], compression: int) -> bytes:
    """Return a zip of the entries, sorted by name, each with the same time and
    rights.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, WRITTEN)
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content, compression, 9)
    return made.getvalue()


def build() -> bytes:
    """Return the bytes of ``ACORD.zip``."""
    return _zip(
        {f"{FOLDER}/{name}": content for name, content in files().items()},
        zipfile.ZIP_DEFLATED,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Make the sample of the ACORD release."
    )
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        default=HERE / "acord/ACORD.zip",
        help="where to write the zip",
    )
    path = parser.parse_args().path
    made = build()
    path.write_bytes(made)
    print(f"{path}: {len(made)} bytes, sha256 {hashlib.sha256(made).hexdigest()}")


if __name__ == "__main__":
    main()
