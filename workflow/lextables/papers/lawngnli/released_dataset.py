"""The released LawngNLI itself, from the authors' two ID files and the former bulk export.

Both are got by hand (resources/sources.yaml says how); this needs no parser, no encoder and no GPU.
"""

import json
import lzma
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from lextables.papers.lawngnli.released_ids import (
    ReleasedOpinion,
    read_ids,
    read_masks,
    rebuild,
    released_opinions,
)
from lextables.papers.lawngnli.steps import STRINGS
from lextables.pipeline.dataset import Column, Row, Table, write
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import BOUNDS, OverBounds, lines

# Rows of one cited case stand together more often than not.
HELD = 64

RELEASED = Table(
    name="released",
    description="The released LawngNLI's rows whose cases are in the bulk export, in the file's order.",
    columns=(
        Column("example_id", pa.int64(), "`index` of the authors' frame"),
        Column("citing_case_id", pa.int64(), "the case whose opinion has the parenthetical"),
        Column("cited_case_id", pa.int64(), "the case whose majority opinion is the premise"),
        Column("pages", STRINGS, "pages of the pincite"),
        Column("parenthetical", pa.string(), "as printed, before it was normalised or contradicted"),
        Column("label", pa.string(), "entail, neutral or contradict"),
        Column("negated", pa.bool_(), "whether the hypothesis has pivotal negation"),
        Column("analysis", pa.bool_(), "whether it belongs to the analysis subset"),
        Column("split", pa.string(), "train, val or test"),
        Column("long_premise_with_citations", pa.string(), "the majority opinion"),
        Column("short_premise_with_citations", pa.string(), "the cited pages of it", nullable=True),
        Column("long_premise", pa.string(), "without citations; null without the filter file", nullable=True),
        Column(
            "short_premise", pa.string(), "without citations; null without the filter file", nullable=True
        ),
        Column("changed", pa.string(), "JSON: the sentence and clause that were changed, and the sides"),
    ),
    key=("example_id",),
    labels=("label", "negated", "analysis", "split"),
    ordered=False,
    row_group=256,
)
_CHANGED = ("sent_id", "clause_id", "e", "h", "flip")


def bulk_files(folder: str | Path) -> list[Path]:
    """Return the files of the former bulk export in ``folder``, sorted."""
    return sorted([*Path(folder).glob("*.jsonl"), *Path(folder).glob("*.jsonl.xz")])


def chosen_bulk(folder: str) -> list[Path]:
    """Return the `bulk_files` of the folder that the config names; `BadInput` where it names none."""
    found = bulk_files(folder) if folder else []
    if not found:
        raise BadInput(
            f"bulk_export = {folder!r} names no folder with .jsonl or .jsonl.xz files",
            where="config",
            do="name the folder of the Caselaw Access Project's former bulk export",
        )
    return found


class CaseStore:
    """Casebodies of chosen cases in one SQLite file: the premises do not fit in memory."""

    def __init__(self, path: str | Path) -> None:
        self._database = sqlite3.connect(path)
        self._database.execute(
            "CREATE TABLE IF NOT EXISTS cases (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"
        )

    def fill(self, bulk: Iterable[str | Path], wanted: set[int]) -> int:
        """Keep the ``wanted`` cases of the bulk files (`.jsonl` or `.jsonl.xz`); return how many there are.

        Raises `BadInput` with file and row for a line that is no case of the export.
        """
        for path in sorted(map(Path, bulk)):
            rows = ((case_id, body) for case_id, body in _cases(path) if case_id in wanted)
            self._database.executemany("INSERT OR REPLACE INTO cases VALUES (?, ?)", rows)
        self._database.commit()
        return self._database.execute("SELECT count(*) FROM cases").fetchone()[0]

    def opinions(self, case_id: int) -> Sequence[ReleasedOpinion] | None:
        """Return a case's opinions as the released code read them; None for a case that is not here."""
        found = self._database.execute("SELECT body FROM cases WHERE id = ?", (case_id,)).fetchone()
        return None if found is None else released_opinions(found[0])

    def close(self) -> None:
        """Close the file."""
        self._database.close()


def _cases(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (case id, casebody) for each case of a bulk file whose text was released."""
    try:
        for number, line in enumerate(lines(path, BOUNDS), 1):
            if line.strip():
                yield from _case(line, f"{path.name}, row {number}")
    except (lzma.LZMAError, EOFError, OverBounds) as error:
        raise BadInput(f"cannot be decompressed ({error})", where=path.name, do="fetch it again") from None


def _case(line: bytes, where: str) -> Iterator[tuple[int, str]]:
    try:
        record = orjson.loads(line)
        if record["casebody"]["status"] == "ok":
            yield record["id"], record["casebody"]["data"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise BadInput(f"not a case of the bulk export ({error!r})", where=where) from None


def write_released(
    ids: str | Path, masks: str | Path | None, bulk: Sequence[str | Path], store: str | Path, path: str | Path
) -> dict[str, int]:
    """Write `RELEASED` to ``path`` and return how many rows the ID file has and how many were rebuilt.

    ``masks`` (the filter file) can only be used when every case is there; None leaves the premises
    without citations null.  ``store`` is a scratch file.
    """
    rows = read_ids(ids)
    cases = CaseStore(store)
    try:
        found = cases.fill(bulk, {int(row[key]) for row in rows for key in ("caseid", "cited_case")})
        opinions = lru_cache(HELD)(cases.opinions)
        rebuilt = rebuild(rows, opinions, None if masks is None else read_masks(masks))
        written = write(RELEASED, map(_row, rebuilt), path)
    finally:
        cases.close()
    return {"rows of the ID file": len(rows), "cases found": found, "rows rebuilt": written}


def _row(rebuilt: dict[str, Any]) -> Row:
    changed = {key: rebuilt["released"][key] for key in _CHANGED}
    names = [column.name for column in RELEASED.columns]
    whole = {"long_premise": None, "short_premise": None} | rebuilt
    return {name: whole.get(name) for name in names} | {"changed": json.dumps(changed, sort_keys=True)}
