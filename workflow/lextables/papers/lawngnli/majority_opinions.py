"""Random access to the majority opinions of a corpus, which are LawngNLI's long premises."""

import bisect
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lextables.corpora.caselaw.opinion import Page

# Row groups held at a time: some 32 opinions each, 1 MB.
HELD = 64
_COLUMNS = ["opinion_id", "text", "pages", "body_end", "reporter", "volume"]


@dataclass(frozen=True)
class MajorityOpinion:
    """The single majority opinion of a case, which is its long premise.

    ``volume`` is the reporter and volume whose pages ``pages`` labels, ``body_end`` the offset at
    which the footnotes begin.
    """

    opinion_id: str
    text: str
    pages: tuple[Page, ...]
    body_end: int
    reporter: str
    volume: str


class MajorityOpinions:
    """Random access to majority opinions, with at most ``HELD`` row groups in memory."""

    def __init__(self, shards: Sequence[str | Path]) -> None:
        """``shards`` are the opinion files, in the order of `case_index`."""
        self._paths = [Path(shard) for shard in shards]
        self._starts: dict[int, list[int]] = {}
        self._held: OrderedDict[tuple[int, int], list[dict[str, Any]]] = OrderedDict()
        self._open: tuple[int, pq.ParquetFile] | None = None

    def at(self, shard: int, row: int) -> MajorityOpinion:
        """Return the opinion in a row of a shard."""
        if shard not in self._starts:
            metadata = self._file(shard).metadata
            starts = [0]
            for group in range(metadata.num_row_groups):
                starts.append(starts[-1] + metadata.row_group(group).num_rows)
            self._starts[shard] = starts
        starts = self._starts[shard]
        group = bisect.bisect_right(starts, row) - 1
        opinion = self._group(shard, group)[row - starts[group]]
        return MajorityOpinion(
            opinion_id=opinion["opinion_id"],
            text=opinion["text"],
            pages=tuple(Page(page["label"], page["offset"]) for page in opinion["pages"]),
            body_end=opinion["body_end"],
            reporter=opinion["reporter"],
            volume=opinion["volume"],
        )

    def _group(self, shard: int, group: int) -> list[dict[str, Any]]:
        key = (shard, group)
        if key in self._held:
            self._held.move_to_end(key)
        else:
            self._held[key] = self._file(shard).read_row_group(group, columns=_COLUMNS).to_pylist()
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return self._held[key]

    def _file(self, shard: int) -> pq.ParquetFile:
        """The open file of a shard; the previous file is closed.

        With many volumes a file has so many row groups that opening it takes longer than reading one.
        """
        if self._open is None or self._open[0] != shard:
            if self._open is not None:
                self._open[1].close()
            self._open = shard, pq.ParquetFile(self._paths[shard])
        return self._open[1]
