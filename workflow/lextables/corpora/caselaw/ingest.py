"""Write the opinions of a shard, several volumes, to one `opinions.parquet`.

The record of what was fetched is `sources/caselaw/<shard>.json`, the report
`data/caselaw/<shard>.json`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from lextables.corpora.caselaw.opinion import Fault, Opinion
from lextables.corpora.caselaw.volume import read_volume
from lextables.pipeline import dataset
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import Column, Table
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import doubt
from lextables.sources.archives import BOUNDS, Bounds

# Left-out cases of a volume that the report names; the others are only counted.
MAX_NAMED_CASES = 10
FETCH_AGAIN = "fetch it again with --forcerun caselaw_volumes"
_PAGE = pa.struct(
    [pa.field("label", pa.string(), False), pa.field("offset", pa.int32(), False)]
)

# Row groups are small so that one opinion can be read without decoding its volume.
OPINIONS = Table(
    name="opinions",
    description="One row an opinion, in the order of its volume.",
    columns=(
        Column("opinion_id", pa.string(), "`<case_id>-<position>`"),
        Column(
            "case_id", pa.int64(), "the Caselaw Access Project's number of the case"
        ),
        Column("position", pa.int16(), "place of the opinion in its case, from 0"),
        Column(
            "citations",
            pa.list_(pa.field("item", pa.string(), False)),
            "citations of the case; the first is the one whose pages `pages` labels",
        ),
        Column("name", pa.string(), "full name of the case"),
        Column("name_abbreviation", pa.string(), "short name of the case"),
        Column("court", pa.string(), "name of the court"),
        Column(
            "jurisdiction", pa.string(), "state, or `United States` for federal courts"
        ),
        Column(
            "date",
            pa.string(),
            "date of decision as published: YYYY, YYYY-MM or YYYY-MM-DD",
        ),
        Column("reporter", pa.string(), "reporter of the first citation, as in `U.S.`"),
        Column("volume", pa.string(), "volume of the first citation"),
        Column("first_page", pa.string(), "first page of the case"),
        Column("last_page", pa.string(), "last page of the case"),
        Column(
            "opinion_type",
            pa.string(),
            "as published: majority, dissent, concurrence and so on",
        ),
        Column("author", pa.string(), "author line, empty where there is none"),
        Column("majorities", pa.int16(), "how many majority opinions the case has"),
        Column("text", pa.string(), "paragraphs joined by a line feed, footnotes last"),
        Column(
            "pages",
            pa.list_(pa.field("item", _PAGE, False)),
            "where each page starts in `text`, in code points, ascending; empty if that is not known",
        ),
        Column(
            "body_end",
            pa.int32(),
            "offset in `text` at which the footnotes begin, or its length",
        ),
    ),
    key=("opinion_id",),
    labels=("opinion_type", "jurisdiction"),
    ordered=False,
    row_group=32,
)


@dataclass(frozen=True)
class Ingested:
    """What was written, and what was left out."""

    opinions: int
    """The number of rows written."""
    faults: tuple[Fault, ...]
    """The faults in order; of each volume at most `MAX_NAMED_CASES` left-out cases."""
    left_out: int
    """The number of left-out cases."""
    unreadable: tuple[Path, ...]
    """The files of the volumes that were left out."""


class _LostVolume(Exception):
    """A volume that cannot be read, found while its shard is written."""

    def __init__(self, volume: Path, fault: Fault) -> None:
        self.volume = volume
        self.fault = fault


class _Attempt:
    """One attempt to read the volumes, without those in ``lost``; collects faults."""

    def __init__(self, lost: Mapping[Path, Fault], bounds: Bounds) -> None:
        self._lost = lost
        self._bounds = bounds
        self._seen: dict[int, str] = {}
        self.faults: list[Fault] = []
        self.left_out = 0

    def rows(self, volumes: Iterable[Path]) -> Iterator[dict[str, Any]]:
        """Yield the rows of `OPINIONS`; raises `_LostVolume`."""
        for volume in volumes:
            if volume in self._lost:
                self.faults.append(self._lost[volume])
            else:
                yield from self._of_volume(volume)

    def _of_volume(self, volume: Path) -> Iterator[dict[str, Any]]:
        """Yield the rows of a volume, and collect its faults.

        A fault loses the volume (raises `_LostVolume`), a case, an opinion's pages or
        nothing (`Fault.lost`).
        """
        left_out = 0
        for item in read_volume(volume, self._bounds, self._seen):
            if isinstance(item, Opinion):
                yield item.row()
                continue
            if item.lost == "volume":
                raise _LostVolume(volume, item)
            if item.lost == "case":
                left_out += 1
                if left_out > MAX_NAMED_CASES:
                    continue
            self.faults.append(item)
        if left_out > MAX_NAMED_CASES:
            what = f"{left_out - MAX_NAMED_CASES:,} more cases are left out"
            self.faults.append(Fault(volume.name, "", what, "nothing"))
        self.left_out += left_out


def write_opinions(
    volumes: Sequence[str | Path],
    path: str | Path,
    *,
    skip_unreadable: bool,
    bounds: Bounds = BOUNDS,
) -> Ingested:
    """Write the opinions of ``volumes``, in their order, to ``path`` as a table of
    `OPINIONS`.

    A case that is invalid, or whose id an earlier case has, is left out and counted.  A
    volume that cannot be read raises `BadInput`; with ``skip_unreadable`` it is left
    out and named in the result.  If a volume fails half-way, the table is written again
    without it, so that memory is bounded by one row group, a volume's metadata and the
    ids of the cases.
    """
    files = [Path(volume) for volume in volumes]
    lost: dict[Path, Fault] = {}
    while True:
        attempt = _Attempt(lost, bounds)
        try:
            count = dataset.write(OPINIONS, attempt.rows(files), path)
        except _LostVolume as broken:
            # The next run fetches the volume again if it may be damaged.
            doubt([broken.volume])
            if not skip_unreadable:
                do = "mend the volume, or set bad_volumes to skip"
                raise BadInput(
                    broken.fault.what, where=str(broken.volume), do=do
                ) from None
            lost[broken.volume] = broken.fault
        else:
            unreadable = tuple(file for file in files if file in lost)
            faults = tuple(attempt.faults)
            return Ingested(count, faults, attempt.left_out, unreadable)


def read_opinions(
    shards: Iterable[str | Path], columns: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of several tables of `OPINIONS`, without the cases that an earlier
    table has.

    ``columns`` includes ``case_id``.  Memory: one row group, and 8 bytes for each case.
    """
    earlier = np.empty(0, np.int64)
    for shard in shards:
        case_ids = np.unique(
            dataset.read_table(shard, ["case_id"])["case_id"].to_numpy()
        )
        repeated = set(np.intersect1d(case_ids, earlier, assume_unique=True).tolist())
        for row in dataset.read(shard, columns):
            if row["case_id"] not in repeated:
                yield row
        earlier = np.union1d(earlier, case_ids)


class FetchedVolume(BaseModel):
    """The keys of a fetched volume's record that are read here; it has more."""

    file: str
    digest: str
    obtained_from: str


class FetchedVolumes(BaseModel):
    """The record of a shard's volumes."""

    volumes: list[FetchedVolume]
    absent: list[str]


def paths(record: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """Return the paths of a shard's volumes.

    Raises `BadInput` if a volume is missing, or differs from the one that was fetched.
    """
    files = [Path(folder, volume["file"]) for volume in record["volumes"]]
    for path, volume in zip(files, record["volumes"], strict=True):
        if not path.is_file():
            raise BadInput("the volume is missing", where=str(path), do=FETCH_AGAIN)
        if f"sha256:{sha256_of(path)}" != volume["digest"]:
            raise BadInput(
                "the volume differs from the one that was fetched",
                where=str(path),
                do=FETCH_AGAIN,
            )
    return files


def report(record: Mapping[str, Any], done: Ingested) -> dict[str, Any]:
    """Return the numbers of opinions and of left-out cases, the left-out volumes, and a
    sentence per fault.

    ``set_aside`` lists, as `<reporter>/<volume>`, the volumes that were not available
    (``absent`` in the record) and those that could not be read.  Raises `BadInput` if
    the volumes have no opinion.
    """
    absent = record["absent"]
    files = [volume["file"] for volume in record["volumes"]]
    if files and not done.opinions:
        faults = "; ".join(map(str, done.faults[:3]))
        what = f"no opinion was read from {len(files)} volumes ({faults})"
        raise BadInput(
            what, where=f"{files[0]} to {files[-1]}", do="take them out of caselaw"
        )
    return {
        "opinions": done.opinions,
        "cases left out": done.left_out,
        "set_aside": [
            *absent,
            *(f"{path.parent.name}/{path.stem}" for path in done.unreadable),
        ],
        "faults": [
            *(
                f"{volume}: it was not available; the volume is set aside."
                for volume in absent
            ),
            *map(str, done.faults),
        ],
    }
