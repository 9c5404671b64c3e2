"""Read ACORD's released zip.

The release (Appendix C.5) has BEIR's format with explicit zeros: `corpus.jsonl`,
`queries.jsonl`, `qrels/{train,valid,test}.tsv` (tab-separated, csv-quoted, scores 0 to
4).  Two supplements have the queries in three lengths and mean ratings (a workbook).

The registry has a digest of the zip and a census of the rows: the content is not
checked here.
"""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.sources import archives
from lextables.sources.workbooks import sheets

SPLITS = ("train", "valid", "test")
_FORMATS = "supplemental materials/acord query (short_medium_long).tsv"
_RATINGS = "supplemental materials/ACORD 2-5 Star Clause Pairs.xlsx"


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set."""
    settings = published.given
    path = published.file("release")
    return read_release(path, settings["categories"], settings["query_aliases"])


def read_release(
    path: Path, categories: Mapping[str, str], aliases: Mapping[str, str]
) -> Rows:
    """Return the rows of the four tables, sorted by their keys.

    Ratings that are not numbers are left out.  The notes count these, and the ratings
    of clauses that are not among the query's judged clauses.

    ``categories`` maps released to published category names; ``aliases`` maps a query's
    title in the supplements to its id where they differ.
    """
    with archives.opened(path) as archive:
        clauses = _clauses(archive)
        queries = _queries(archive, categories, aliases)
        judgements = _judgements(archive)
        ratings = list(_ratings(archive, _Titles(queries, aliases)))
    clause_of = _judged_clauses(clauses, judgements)
    rated: list[Row] = []
    without_number = 0
    for row in ratings:
        if isinstance(row["rating"], int | float):
            key = (row["query_id"], _normalized(row["text"]))
            rating = float(row["rating"])
            rated.append({**row, "clause_id": clause_of.get(key), "rating": rating})
        else:
            without_number += 1
    rated.sort(key=itemgetter("sheet", "column", "row"))
    rows: dict[str, list[Row]] = {
        "clauses": clauses,
        "queries": queries,
        "judgements": judgements,
        "ratings": rated,
    }
    without_clause = [row for row in rated if row["clause_id"] is None]
    notes = {
        "ratings_without_a_judged_clause": len(without_clause),
        "ratings_without_a_number": without_number,
    }
    return Rows(rows, notes)


def _lines(archive: zipfile.ZipFile, name: str) -> io.StringIO:
    """Return the text of the member whose path ends in ``name``."""
    content = archive.read(archives.member(archive, name))
    return io.StringIO(content.decode("utf-8-sig"), newline="")


def _tsv(archive: zipfile.ZipFile, name: str) -> csv.DictReader:
    return csv.DictReader(_lines(archive, name), delimiter="\t")


def _clauses(archive: zipfile.ZipFile) -> list[Row]:
    """Return the clauses, sorted by their ids."""
    clauses = []
    for line in _lines(archive, "corpus.jsonl"):
        record = json.loads(line)
        clause = {
            "clause_id": record["_id"],
            "text": record["text"],
            "words": len(record["text"].split()),
        }
        clauses.append(clause)
    return sorted(clauses, key=itemgetter("clause_id"))


def _normalized(text: str) -> str:
    """Return the lower-case words of ``text``: titles differ in case, quotes and white
    space.
    """
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


class _Titles:
    """Finds query ids by the titles of the supplements."""

    def __init__(self, queries: Iterable[Row], aliases: Mapping[str, str]) -> None:
        self._ids = {_normalized(row["query_id"]): row["query_id"] for row in queries}
        for title, query_id in aliases.items():
            self._ids[_normalized(title)] = query_id

    def query_id(self, title: str) -> str:
        return self._ids[_normalized(title)]


def _queries(
    archive: zipfile.ZipFile, categories: Mapping[str, str], aliases: Mapping[str, str]
) -> list[Row]:
    """Return the queries in the order of the table of their formats."""
    declared = {}
    for line in _lines(archive, "queries.jsonl"):
        record = json.loads(line)
        metadata = record["metadata"]
        declared[record["_id"]] = {
            "query_id": record["_id"],
            "short": record["text"],
            "category": categories[metadata["category"]],
            "split": metadata["split"],
            "origin": metadata.get("type", ""),
        }
    titles = _Titles(declared.values(), aliases)
    queries: list[Row] = []
    for number, record in enumerate(_tsv(archive, _FORMATS), 1):
        formats = {
            "number": number,
            "medium": record["Medium Format"].strip(),
            "long": record["Long Format"].strip(),
        }
        query_id = titles.query_id(record["ACORD Query"])
        queries.append({**declared[query_id], **formats})
    return queries


def _judgements(archive: zipfile.ZipFile) -> list[Row]:
    """Return the judgements of all splits, sorted by query and clause."""
    judgements = []
    for split in SPLITS:
        for record in _tsv(archive, f"qrels/{split}.tsv"):
            score = int(record["score"])
            judgement = {
                "query_id": record["query-id"],
                "clause_id": record["corpus-id"],
                "split": split,
                "score": score,
                "stars": score + 1,
            }
            judgements.append(judgement)
    return sorted(judgements, key=itemgetter("query_id", "clause_id"))


def _judged_clauses(
    clauses: Iterable[Row], judgements: Iterable[Row]
) -> dict[tuple[str, str], str]:
    """Return {(query id, normalized text): first judged clause of the query with this
    text}.
    """
    text_of = {row["clause_id"]: _normalized(row["text"]) for row in clauses}
    clause_of: dict[tuple[str, str], str] = {}
    for row in judgements:
        key = (row["query_id"], text_of[row["clause_id"]])
        clause_of.setdefault(key, row["clause_id"])
    return clause_of


def _ratings(archive: zipfile.ZipFile, titles: _Titles) -> Iterator[Row]:
    """Yield a row for each clause in the workbook, with its rating as it is written.

    Columns come in pairs: clauses under the title of their query, and their ratings.
    """
    content = archive.read(archives.member(archive, _RATINGS))
    for title, cells in sheets(content, _RATINGS):
        head = next(at for at, row in enumerate(cells) if "Rating" in map(_text, row))
        headings = list(map(_text, cells[head]))
        for column, heading in enumerate(headings):
            if heading != "Rating":
                continue
            query_id = titles.query_id(headings[column - 1])
            for number, row in enumerate(cells[head + 1 :], head + 2):
                text = _text(_at(row, column - 1))
                if text:
                    yield {
                        "sheet": title,
                        "column": column,
                        "row": number,
                        "query_id": query_id,
                        "text": text,
                        "rating": _at(row, column),
                    }


def _at(row: Sequence[Any], column: int) -> Any:
    """Return a cell of a row; None after the last cell of the row."""
    return row[column] if column < len(row) else None


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
