"""An index of the cases of a corpus: by citation and by the names of the parties.

It is built once from all opinions (`build_case_index`) and read by the jobs on single
shards (`CaseIndex`).  It is three sorted arrays on disk: citations, cases and parties.
Citations and parties are stored as 64-bit hashes; the probability that two different
ones among ten million share a hash is 3 in a million.
"""

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from eyecite.tokenizers import EDITIONS_LOOKUP
from pydantic import BaseModel

from lextables.corpora.caselaw.opinion import MAJORITY
from lextables.pipeline.dataset import Row, batches
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import (
    damage_named,
    read_json,
    replacing_result,
    verify,
    write_result,
)
from lextables.sources.records import whole_number

AMBIGUOUS = -1  # instead of a case: the citation belongs to several

_VERSUS = re.compile(r"\s(?:v|vs|versus|against)\.?\s", re.IGNORECASE)
# Words for the role of a party.  The released code has the first six of them.
_ROLES = re.compile(
    r"\b(?:plaintiff|defendant|petitioner|respondent|appellant|appellee|cross(?=-)|in error|et al|et ux)s?\b"
)
_NOT_A_LETTER = re.compile(r"[^\w]+")

# The entries of the three arrays.  A "key" is a hash, "shard" a number in the list of
# opinion files, "row" the row there of the single majority opinion, or -1.
_CITATION = np.dtype([("key", "<u8"), ("case", "<i8")])
_CASE = np.dtype(
    [("case", "<i8"), ("shard", "<i4"), ("row", "<i8"), ("jurisdiction", "<i4")]
)
_PARTIES = np.dtype(
    [
        ("key", "<u8"),
        ("date", "<i4"),
        ("reporter", "<u8"),
        ("volume", "<i4"),
        ("page", "<i4"),
        ("case", "<i8"),
    ]
)
_ARRAYS = {"citations": _CITATION, "cases": _CASE, "parties": _PARTIES}
_Tables = tuple[np.ndarray, ...]  # the cases, citations and parties of a file
# The columns of the opinions table that are read; the heading names the case.
_HEADING = ["case_id", "name", "date", "reporter", "volume", "first_page"]
_COLUMNS = [*_HEADING, "citations", "jurisdiction", "opinion_type", "majorities"]


_log = logging.getLogger("lextables")


@cache
def reporter_name(reporter: str) -> str:
    """Return the standard abbreviation of a reporter without white space (``U.S.``).

    If there is no standard abbreviation, or several, it is ``reporter`` itself without
    white space.
    """
    editions = EDITIONS_LOOKUP.get(reporter, ())
    names = {edition.short_name for edition in editions}
    name = reporter
    if reporter not in names and len(names) == 1:
        (name,) = names
    return "".join(name.split())


def citation_key(citation: str) -> str | None:
    """Return a citation such as ``410 U. S. 113`` in the form in which citations are
    compared.

    None unless it is a volume, a reporter and a page.
    """
    parts = citation.split()
    if len(parts) < 3 or not parts[0].isdecimal() or not parts[-1].isdecimal():
        return None
    return page_key(parts[0], " ".join(parts[1:-1]), parts[-1])


def volume_key(volume: str, reporter: str) -> str:
    """Return volume and reporter in the form in which volumes are compared."""
    return f"{volume} {reporter_name(reporter)}"


def page_key(volume: str, reporter: str, page: str) -> str:
    """Return volume, reporter and page in the form in which citations are compared."""
    return f"{volume_key(volume, reporter)} {page}"


@dataclass(frozen=True)
class CaseRecord:
    """A case of the corpus: its jurisdiction, and where its single majority opinion is.

    ``shard`` is a number in the list of opinion files, ``row`` a row in that file;
    ``row`` is None if the case has no majority opinion, or several.
    """

    case_id: int
    jurisdiction: str
    shard: int
    row: int | None


def build_case_index(
    shards: Sequence[str | Path], folder: str | Path
) -> dict[str, int]:
    """Write the index of the cases in ``shards`` (files of `caselaw.ingest.OPINIONS`)
    to ``folder``.

    Returns counts: cases, those with a single majority opinion, citations, and
    citations that belong to two cases.  Reads no opinion's text.  Apart from shards and
    rows, the index does not depend on how the cases are divided into files.  A case in
    two files is taken from the first; the other is logged.  Raises `BadInput` if there
    is no case.
    """
    codes: dict[str, int] = {}  # {jurisdiction: its number}
    names = [Path(path).name for path in shards]
    tables = [_shard(number, Path(path), codes) for number, path in enumerate(shards)]
    _drop_repeated(tables, names)
    jurisdictions = sorted(codes)
    cases = _joined(_CASE, [part for part, _, _ in tables])
    # Jurisdictions were numbered in order of occurrence, which depends on the division
    # into volumes.
    renumbered = np.array([jurisdictions.index(name) for name in codes], dtype=np.int32)
    cases["jurisdiction"] = renumbered[cases["jurisdiction"]]
    if not len(cases):
        raise BadInput(
            f"the volumes of {', '.join(Path(shard).stem for shard in shards)} hold no case",
            where="caselaw",
            do="see which were set aside in the .json files beside the opinions, and name other volumes",
        )
    # A case may list a citation twice.
    citations = np.unique(_joined(_CITATION, [part for _, part, _ in tables]))
    parties_of_cases = _joined(_PARTIES, [part for _, _, part in tables])
    arrays = {"citations": citations, "cases": cases, "parties": parties_of_cases}
    folder = Path(folder)
    for name, array in arrays.items():
        with (
            replacing_result(folder / f"{name}.npy") as temporary,
            temporary.open("wb") as file,
        ):
            np.save(file, array, allow_pickle=False)
    record = {"shards": names, "jurisdictions": jurisdictions}
    write_result(
        folder / "index.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n"
    )
    keys, case_counts = np.unique(citations["key"], return_counts=True)
    return {
        "cases": len(cases),
        "cases with a single majority opinion": int((cases["row"] >= 0).sum()),
        "citations": len(keys),
        "citations of two cases": int((case_counts > 1).sum()),
    }


class _Index(BaseModel):
    """The content of `index.json`: what the numbers in the arrays stand for."""

    shards: list[str]
    jurisdictions: list[str]


class CaseIndex:
    """The index that `build_case_index` wrote.

    Only the columns that are searched are in memory; the others stay on disk.
    """

    def __init__(self, folder: str | Path) -> None:
        folder = Path(folder)
        arrays = {}
        for name in _ARRAYS:
            path = folder / f"{name}.npy"
            with damage_named(path):
                verify(path)
                arrays[name] = np.load(path, mmap_mode="r", allow_pickle=False)
        self._citations = arrays["citations"]
        self._cases = arrays["cases"]
        self._parties = arrays["parties"]
        record = read_json(folder / "index.json", _Index)
        # A search needs its keys side by side in memory: 8 bytes for each citation and
        # 16 for each case.
        self._citation_keys = np.ascontiguousarray(self._citations["key"])
        self._case_ids = np.ascontiguousarray(self._cases["case"])
        self._party_keys = np.ascontiguousarray(self._parties["key"])
        self.shards: tuple[str, ...] = tuple(record["shards"])
        self._jurisdictions: list[str] = record["jurisdictions"]

    def case_of(self, key: str) -> int | None:
        """Return the case that a `citation_key` is to: None if unknown, or
        `AMBIGUOUS`.
        """
        start, end = _group(self._citation_keys, _hash(key))
        if start == end:
            return None
        if end > start + 1:
            return AMBIGUOUS
        return int(self._citations["case"][start])

    def record(self, case_id: int) -> CaseRecord:
        """Return the record of a case; KeyError if the corpus has no such case."""
        position = int(np.searchsorted(self._case_ids, case_id))
        if position == len(self._case_ids) or self._case_ids[position] != case_id:
            raise KeyError(case_id)
        _, shard, row, code = self._cases[position].item()
        jurisdiction = self._jurisdictions[code]
        majority = None
        if row >= 0:
            majority = row
        return CaseRecord(case_id, jurisdiction, shard, majority)

    def met_again(self, case: "CaseHeading") -> bool:
        """Return whether a later case has the same party names, in the same or reverse
        order.

        The later case may have overturned ``case``, so the paper drops the
        parentheticals of ``case`` (A.1.2).  A case is later by its date, as far as both
        dates are given; if these are equal, by volume and page of the same reporter.
        """
        if not parties(case.name):
            return False
        entry = _heading_entry(case)
        start, end = _group(self._party_keys, int(entry["key"]))
        return any(_later(other, entry) for other in self._parties[start:end])


@dataclass(frozen=True)
class CaseHeading:
    """What tells whether a case is a later one of the same parties: columns of the
    opinions table.
    """

    case_id: int
    name: str
    date: str
    reporter: str
    volume: str
    first_page: str

    @classmethod
    def of(cls, opinion: Row) -> "CaseHeading":
        """The heading of the case of a row of opinions."""
        return cls(*(opinion[column] for column in _HEADING))


def parties(name: str) -> tuple[str, ...]:
    """Return the parties in a case name, in order, normalised for comparison (A.1.2).

    Lower case, without roles and punctuation: ``ROE, Plaintiff-Appellant, v. WADE,
    Appellee`` gives ``("roe", "wade")``.
    """
    sides = (
        _NOT_A_LETTER.sub(" ", _ROLES.sub(" ", side.lower())).strip()
        for side in _VERSUS.split(name)
    )
    return tuple(side for side in sides if side)


def _heading_entry(case: CaseHeading) -> np.void:
    """The entry of a case in the array of `_PARTIES`.

    Its key does not depend on the order of the parties.
    """
    values = (
        _hash("parties " + " | ".join(sorted(parties(case.name)))),
        _date(case.date),
        _hash("reporter " + case.reporter),
        _number(case.volume),
        _number(case.first_page),
        case.case_id,
    )
    return np.array([values], _PARTIES)[0]


def _later(other: np.void, entry: np.void) -> bool:
    """Whether an entry of `_PARTIES` is of a later case than ``entry``."""
    if other["case"] == entry["case"]:
        return False
    for first, second in zip(
        _parts(int(other["date"])), _parts(int(entry["date"])), strict=True
    ):
        if not first or not second:
            break  # from here on one of the dates is not given
        if first != second:
            return first > second
    if other["reporter"] != entry["reporter"]:
        return False
    return (int(other["volume"]), int(other["page"])) > (
        int(entry["volume"]),
        int(entry["page"]),
    )


def _date(date: str) -> int:
    """A date as YYYYMMDD, with zeros for a month or day that is not given."""
    parts = [int(part) for part in date.split("-") if part.isdecimal()][:3]
    year, month, day = (*parts, 0, 0, 0)[:3]
    return year * 10_000 + month * 100 + day


def _parts(date: int) -> tuple[int, int, int]:
    """Year, month and day of a date as YYYYMMDD."""
    return date // 10_000, date // 100 % 100, date % 100


def _number(text: str) -> int:
    """A volume or page as a number; 0 if it is none."""
    return whole_number(text, digits=9) or 0


def _hash(text: str) -> int:
    return int.from_bytes(
        hashlib.blake2b(text.encode(), digest_size=8).digest(), "little"
    )


def _group(keys: np.ndarray, key: int) -> tuple[int, int]:
    """The start and the end of the entries equal to ``key`` in sorted ``keys``."""
    unsigned = np.uint64(key)
    start = int(np.searchsorted(keys, unsigned, "left"))
    end = int(np.searchsorted(keys, unsigned, "right"))
    return start, end


def _joined(kind: np.dtype, arrays: Iterable[np.ndarray]) -> np.ndarray:
    """The entries of ``arrays``, which are of this ``kind``, sorted."""
    joined = np.concatenate([np.empty(0, kind), *arrays])
    joined.sort()
    return joined


def _drop_repeated(tables: list[_Tables], names: Sequence[str]) -> None:
    """Remove from ``tables`` the cases that an earlier file has, and log them.

    ``tables`` and ``names`` have one item for each file.
    """
    cases = _joined(_CASE, [part for part, _, _ in tables])
    repeated = np.flatnonzero(cases["case"][1:] == cases["case"][:-1]) + 1
    by_shard: dict[int, list[int]] = {}
    for case in cases[repeated]:
        by_shard.setdefault(int(case["shard"]), []).append(int(case["case"]))
    for number, case_ids in by_shard.items():
        first, *others = case_ids
        cases_are = f"case {first} is"
        if others:
            cases_are = f"case {first} and {len(others):,} more cases are"
        message = "%s, %s also in an earlier file and left out here"
        _log.info(message, names[number], cases_are)
        parts = []
        for part in tables[number]:
            is_repeated = np.isin(part["case"], case_ids)
            parts.append(part[~is_repeated])
        tables[number] = tuple(parts)


def _shard(number: int, path: Path, codes: dict[str, int]) -> _Tables:
    """The cases, citations and parties of one file.

    ``codes`` has the number of each jurisdiction; new jurisdictions are added to it.
    """
    # {case id: a row of `_CASE`}; its row is -1 until a single majority opinion is met.
    cases: dict[int, tuple[int, int, int, int]] = {}
    citations: list[tuple[int, int]] = []
    headings: list[np.void] = []
    row_number = -1
    for batch in batches(path, _COLUMNS):
        for row in batch.to_pylist():
            row_number += 1
            case_id = row["case_id"]
            code = codes.setdefault(row["jurisdiction"], len(codes))
            if case_id not in cases:
                cases[case_id] = (case_id, number, -1, code)
                keys = (citation_key(citation) for citation in row["citations"])
                citations += [(_hash(key), case_id) for key in keys if key is not None]
                headings.append(_heading_entry(CaseHeading.of(row)))
            if row["opinion_type"] == MAJORITY and row["majorities"] == 1:
                cases[case_id] = (case_id, number, row_number, code)
    return (
        np.array(list(cases.values()), _CASE),
        np.array(citations, _CITATION),
        np.array(headings, _PARTIES),
    )
