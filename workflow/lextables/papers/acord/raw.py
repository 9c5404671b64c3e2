"""Read and check ACORD's released zip.

The release (Appendix C.5) has BEIR's format with explicit zeros: `corpus.jsonl`, `queries.jsonl`,
`qrels/{train,valid,test}.tsv` (tab-separated, csv-quoted, scores 0 to 4).  Two supplements have the queries
in three lengths and mean ratings (a workbook).
"""

import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from lextables.pipeline.dataset import Published, Row, Rows
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import RESTORE, Strict, Text, typed
from lextables.sources import archives, records
from lextables.sources.workbooks import sheets

SPLITS = ("train", "valid", "test")
MAX_RATING = 5  # stars; a mean of several readers, and 0 in some rows of the release
_FORMATS = "supplemental materials/acord query (short_medium_long).tsv"
_RATINGS = "supplemental materials/ACORD 2-5 Star Clause Pairs.xlsx"


@dataclass(frozen=True)
class Release:
    """The rows of the four tables, sorted by their keys, and counts of irregularities."""

    clauses: list[Row]
    queries: list[Row]
    judgements: list[Row]
    ratings: list[Row]
    notes: dict[str, int]


def read(name: str, published: Published) -> Rows:
    """Return the rows of the data set."""
    settings = published.given
    release = read_release(
        published.file("release"), settings["categories"], settings["query_aliases"]
    )
    return Rows(vars(release), release.notes)


def read_release(
    path: str | Path, categories: Mapping[str, str], aliases: Mapping[str, str]
) -> Release:
    """Read and check the zip at ``path``.

    ``categories`` maps released to published category names; ``aliases`` maps a query's title in the
    supplements to its id where they differ.  Raises `BadInput` with file and row for the first error.
    """
    with archives.opened(path) as archive:
        files = _Members(archive)
        clauses = _clauses(files)
        clause_ids = {clause["clause_id"] for clause in clauses}
        declared = _declared_queries(files, categories)
        judgements = _judgements(files, declared, clause_ids)
        queries = _with_formats(files, declared, aliases)
        ratings, notes = _ratings(files, queries, judgements, clauses, aliases)
    return Release(clauses, queries, judgements, ratings, notes)


class _Clause(Strict):
    """A line of `corpus.jsonl`."""

    clause_id: Text = Field(alias="_id")
    text: Text


class _Metadata(Strict):
    category: str
    split: Literal["train", "valid", "test"]
    type: str = ""


class _Query(Strict):
    """A line of `queries.jsonl`."""

    query_id: Text = Field(alias="_id")
    text: Text
    metadata: _Metadata


class _Members:
    """The files of the archive, by the end of their paths: the top folder may have any name."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def read(self, suffix: str) -> bytes:
        return self.archive.read(archives.member(self.archive, suffix))

    def json_lines(self, suffix: str) -> Iterator[tuple[str, records.Record]]:
        return records.json_lines(io.BytesIO(self.read(suffix)), suffix)

    def rows(
        self, suffix: str, header: tuple[str, ...]
    ) -> Iterator[tuple[str, list[str]]]:
        """Yield (place, cells) for each row of a tab-separated file with this header."""
        rows = records.csv_rows(io.BytesIO(self.read(suffix)), suffix, delimiter="\t")
        where, first = next(rows)
        if tuple(first) != header:
            raise BadInput(f"the header is not {', '.join(header)}", where=where)
        yield from rows


def _clauses(files: _Members) -> list[Row]:
    clauses: dict[str, Row] = {}
    for where, record in files.json_lines("corpus.jsonl"):
        clause = typed(_Clause, record, where)
        clause_id, text = clause.clause_id, clause.text
        if clause_id in clauses:
            raise BadInput(
                f"clause {clause_id} appears twice",
                where=where,
                do="drop one of the two",
            )
        clauses[clause_id] = {
            "clause_id": clause_id,
            "text": text,
            "words": len(text.split()),
        }
    return [clauses[clause_id] for clause_id in sorted(clauses)]


def _declared_queries(
    files: _Members, categories: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    declared: dict[str, dict[str, Any]] = {}
    for where, record in files.json_lines("queries.jsonl"):
        query = typed(_Query, record, where)
        query_id, metadata = query.query_id, query.metadata
        if query_id in declared:
            raise BadInput(
                f"query {query_id!r} appears twice",
                where=where,
                do="drop one of the two",
            )
        if metadata.category not in categories:
            what = f"query {query_id!r} has the unknown category {metadata.category!r}"
            raise BadInput(what, where=where)
        declared[query_id] = {
            "query_id": query_id,
            "short": query.text,
            "category": categories[metadata.category],
            "split": metadata.split,
            "origin": metadata.type,
        }
    return declared


def _judgements(
    files: _Members, queries: Mapping[str, Row], clause_ids: set[str]
) -> list[Row]:
    seen: dict[tuple[str, str], str] = {}
    judgements = []
    for split in SPLITS:
        for where, (query_id, clause_id, score) in files.rows(
            f"qrels/{split}.tsv", ("query-id", "corpus-id", "score")
        ):
            if query_id not in queries:
                raise BadInput(
                    f"query {query_id!r} is not in queries.jsonl", where=where
                )
            if queries[query_id]["split"] != split:
                raise BadInput(
                    f"query {query_id!r} belongs to the split {queries[query_id]['split']}",
                    where=where,
                )
            if clause_id not in clause_ids:
                raise BadInput(
                    f"clause {clause_id} is not in corpus.jsonl", where=where
                )
            if score not in ("0", "1", "2", "3", "4"):
                raise BadInput(f"score {score} is not one of 0 to 4", where=where)
            pair = (query_id, clause_id)
            if pair in seen:
                raise BadInput(
                    f"query {query_id!r} and clause {clause_id} are judged twice (first at {seen[pair]})",
                    where=where,
                    do="drop one of the two",
                )
            seen[pair] = where
            judgements.append(
                {
                    "query_id": query_id,
                    "clause_id": clause_id,
                    "split": split,
                    "score": int(score),
                    "stars": int(score) + 1,
                }
            )
    judged = {query_id for query_id, _ in seen}
    for query_id in queries:
        if query_id not in judged:
            raise BadInput(
                f"query {query_id!r} has no judgement in any split",
                where="qrels",
                do="restore its rows",
            )
    return sorted(judgements, key=lambda row: (row["query_id"], row["clause_id"]))


def _normalized(text: str) -> str:
    """Return the lower-case words of ``text``: titles differ in case, quotes and white space."""
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _by_title(queries: Mapping[str, Any], aliases: Mapping[str, str]) -> dict[str, str]:
    titles = {_normalized(query_id): query_id for query_id in queries}
    return titles | {
        _normalized(title): query_id
        for title, query_id in aliases.items()
        if query_id in queries
    }


def _with_formats(
    files: _Members, declared: dict[str, dict[str, Any]], aliases: Mapping[str, str]
) -> list[Row]:
    titles = _by_title(declared, aliases)
    queries: list[Row] = []
    for where, (title, medium, long) in files.rows(
        _FORMATS, ("ACORD Query", "Medium Format", "Long Format")
    ):
        query_id = titles.pop(_normalized(title), None)
        if query_id is None:
            raise BadInput(
                f"{title!r} is no query of queries.jsonl, or is listed twice",
                where=where,
            )
        queries.append(
            declared[query_id]
            | {
                "number": len(queries) + 1,
                "medium": medium.strip(),
                "long": long.strip(),
            }
        )
    missing = set(declared) - {query["query_id"] for query in queries}
    if missing:
        raise BadInput(
            f"the query {min(missing)!r} has no medium and long format", where=_FORMATS
        )
    return queries


def _ratings(
    files: _Members,
    queries: list[Row],
    judgements: list[Row],
    clauses: list[Row],
    aliases: Mapping[str, str],
) -> tuple[list[Row], dict[str, int]]:
    """Read the workbook.  Its columns come in pairs: clauses under their query's title, and their ratings."""
    titles = _by_title({query["query_id"]: query for query in queries}, aliases)
    judged: dict[str, set[str]] = defaultdict(set)
    for judgement in judgements:
        judged[judgement["query_id"]].add(judgement["clause_id"])
    by_text: dict[str, list[str]] = defaultdict(list)
    for clause in clauses:
        by_text[_normalized(clause["text"])].append(clause["clause_id"])

    rows: list[Row] = []
    notes: Counter[str] = Counter(
        ratings_without_a_number=0, ratings_without_a_judged_clause=0
    )
    for title, cells in sheets(files.read(_RATINGS), _RATINGS):
        in_sheet = f"{_RATINGS}, sheet {title}"
        head = next(
            (
                i
                for i, row in enumerate(cells[:4])
                if "Rating" in [_text(cell) for cell in row]
            ),
            None,
        )
        if head is None:
            raise BadInput(
                "no row of the first four is headed 'Rating'", where=in_sheet
            )
        for at in (i for i, cell in enumerate(cells[head]) if _text(cell) == "Rating"):
            query_id = titles.get(_normalized(_text(cells[head][at - 1])))
            if query_id is None:
                raise BadInput(
                    f"column {at} is headed {_text(cells[head][at - 1])!r}, which is no query",
                    where=f"{in_sheet}, row {head + 1}",
                )
            for number, row in enumerate(cells[head + 1 :], head + 2):
                text, rating = (
                    _text(row[at - 1] if len(row) >= at else None),
                    row[at] if len(row) > at else None,
                )
                if not text:
                    continue
                if not isinstance(rating, int | float):
                    notes["ratings_without_a_number"] += 1
                    continue
                if isinstance(rating, bool) or not 0 <= rating <= MAX_RATING:
                    what = f"the rating {rating} is no number from 0 to {MAX_RATING}"
                    raise BadInput(what, where=f"{in_sheet}, row {number}", do=RESTORE)
                clause_id = min(
                    (i for i in by_text[_normalized(text)] if i in judged[query_id]),
                    default=None,
                )
                notes["ratings_without_a_judged_clause"] += clause_id is None
                rows.append(
                    {
                        "sheet": title,
                        "column": at,
                        "row": number,
                        "query_id": query_id,
                        "clause_id": clause_id,
                        "text": text,
                        "rating": float(rating),
                    }
                )
    rows.sort(key=lambda row: (row["sheet"], row["column"], row["row"]))
    return rows, dict(sorted(notes.items()))


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
