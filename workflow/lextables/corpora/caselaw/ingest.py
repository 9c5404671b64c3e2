"""Write the opinions of a shard, several volumes, to one `opinions.parquet`.

The record of what was fetched is `sources/caselaw/<shard>.json`, the report `data/caselaw/<shard>.json`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lextables.corpora.caselaw.opinion import Fault
from lextables.corpora.caselaw.volume import read_volume
from lextables.pipeline import dataset
from lextables.pipeline.content import sha256_of
from lextables.pipeline.dataset import Column, Table
from lextables.pipeline.errors import BadInput
from lextables.sources.archives import BOUNDS, Bounds

AGAIN = "fetch it again with --forcerun caselaw_volumes"
_PAGE = pa.struct([pa.field("label", pa.string(), False), pa.field("offset", pa.int32(), False)])

# Row groups are small so that one opinion can be read without decoding its volume.
OPINIONS = Table(
    name="opinions",
    description="One row an opinion, in the order of its volume.",
    columns=(
        Column("opinion_id", pa.string(), "`<case_id>-<position>`"),
        Column("case_id", pa.int64(), "the Caselaw Access Project's number of the case"),
        Column("position", pa.int16(), "place of the opinion in its case, from 0"),
        Column(
            "citations",
            pa.list_(pa.field("item", pa.string(), False)),
            "citations of the case; the first is the one whose pages `pages` labels",
        ),
        Column("name", pa.string(), "full name of the case"),
        Column("name_abbreviation", pa.string(), "short name of the case"),
        Column("court", pa.string(), "name of the court"),
        Column("jurisdiction", pa.string(), "state, or `United States` for federal courts"),
        Column("date", pa.string(), "date of decision as published: YYYY, YYYY-MM or YYYY-MM-DD"),
        Column("reporter", pa.string(), "reporter of the first citation, as in `U.S.`"),
        Column("volume", pa.string(), "volume of the first citation"),
        Column("first_page", pa.string(), "first page of the case"),
        Column("last_page", pa.string(), "last page of the case"),
        Column("opinion_type", pa.string(), "as published: majority, dissent, concurrence and so on"),
        Column("author", pa.string(), "author line, empty where there is none"),
        Column("majorities", pa.int16(), "how many majority opinions the case has"),
        Column("text", pa.string(), "paragraphs joined by a line feed, footnotes last"),
        Column(
            "pages",
            pa.list_(pa.field("item", _PAGE, False)),
            "where each page starts in `text`, in code points, ascending; empty if that is not known",
        ),
        Column("body_end", pa.int32(), "offset in `text` at which the footnotes begin, or its length"),
    ),
    key=("opinion_id",),
    labels=("opinion_type", "jurisdiction"),
    ordered=False,
    row_group=32,
)


@dataclass(frozen=True)
class Ingested:
    """The number of rows written, the faults in order, and the files of the volumes that were left out."""

    opinions: int
    faults: tuple[Fault, ...]
    set_aside: tuple[Path, ...]


class _MissingVolume(Exception):
    def __init__(self, volume: Path) -> None:
        self.volume = volume


def write_opinions(
    volumes: Sequence[str | Path], path: str | Path, *, set_aside: bool, bounds: Bounds = BOUNDS
) -> Ingested:
    """Write the opinions of ``volumes``, in their order, to ``path`` as a table of `OPINIONS`.

    A volume that cannot be read raises `BadInput`; with ``set_aside`` it is left out and named in the
    result. If a volume fails half-way, the table is written again without it, so that memory is bounded by
    one row group.
    """
    lost: dict[Path, Fault] = {}
    while True:
        faults: list[Fault] = []

        def rows(faults: list[Fault] = faults) -> Iterator[dict]:
            for volume in map(Path, volumes):
                if volume in lost:
                    faults.append(lost[volume])
                    continue
                for item in read_volume(volume, bounds):
                    if not isinstance(item, Fault):
                        yield item.row()
                    elif item.lost == "volume":
                        lost[volume] = item
                        raise _MissingVolume(volume)
                    else:
                        faults.append(item)

        try:
            count = dataset.write(OPINIONS, rows(), path)
        except _MissingVolume as broken:
            if not set_aside:
                raise BadInput(
                    lost[broken.volume].what,
                    where=str(broken.volume),
                    do="mend the volume, or set bad_volumes to skip",
                ) from None
        else:
            return Ingested(
                count, tuple(faults), tuple(volume for volume in map(Path, volumes) if volume in lost)
            )


def paths(record: Mapping[str, Any], folder: str | Path) -> list[Path]:
    """Return the paths of a shard's volumes.

    Raises `BadInput` if a volume is missing, or differs from the one that was fetched.
    """
    files = [Path(folder, volume["file"]) for volume in record["volumes"]]
    for path, volume in zip(files, record["volumes"], strict=True):
        if not path.is_file():
            raise BadInput("the volume is missing", where=str(path), do=AGAIN)
        if f"sha256:{sha256_of(path)}" != volume["digest"]:
            raise BadInput("the volume differs from the one that was fetched", where=str(path), do=AGAIN)
    return files


def report(record: Mapping[str, Any], done: Ingested) -> dict[str, Any]:
    """Return the number of opinions, the volumes that were left out, and one sentence per fault.

    ``set_aside`` lists, as `<reporter>/<volume>`, the volumes that were not available (``absent`` in the
    record) and those that could not be read.
    """
    absent = record["absent"]
    return {
        "opinions": done.opinions,
        "set_aside": [*absent, *(f"{path.parent.name}/{path.stem}" for path in done.set_aside)],
        "faults": [
            *(f"{volume}: it could not be had; the volume is set aside." for volume in absent),
            *map(str, done.faults),
        ],
    }
