"""Volumes in, one `opinions.parquet` out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lextables.corpora.caselaw.opinion import Fault
from lextables.corpora.caselaw.schema import OPINIONS
from lextables.corpora.caselaw.volume import read_volume
from lextables.pipeline import dataset
from lextables.pipeline.errors import BadInput
from lextables.sources.bounded import BOUNDS, Bounds


@dataclass(frozen=True)
class Ingested:
    """What became of the volumes: rows written, faults in the order met, files of volumes set aside."""

    opinions: int
    faults: tuple[Fault, ...]
    set_aside: tuple[Path, ...]


class _Lost(Exception):
    def __init__(self, volume: Path) -> None:
        self.volume = volume


def write_opinions(
    volumes: Sequence[str | Path], path: str | Path, *, set_aside: bool, bounds: Bounds = BOUNDS
) -> Ingested:
    """Write the opinions of ``volumes``, in their order, to ``path`` as a table of `schema.OPINIONS`.

    A volume that cannot be read raises `BadInput`, or with ``set_aside`` is left out whole and named
    in the result.  Memory stays bounded by one row group: when a volume breaks half-way, the table is
    written again without it.
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
                        raise _Lost(volume)
                    else:
                        faults.append(item)

        try:
            count = dataset.write(OPINIONS, rows(), path)
        except _Lost as broken:
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
