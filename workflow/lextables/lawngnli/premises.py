"""LawngNLI, Appendix A.1.1: short premises, the cited pages of a majority opinion in whole paragraphs."""

import bisect
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from lextables.caselaw.opinion import Page

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


@dataclass(frozen=True)
class Premise:
    """A short premise: its text, and the spans of the majority opinion it is made of, ascending."""

    text: str
    spans: tuple[tuple[int, int], ...]


def short_premise(opinion: MajorityOpinion, pages: Sequence[str]) -> Premise | None:
    """Return the cited pages of ``opinion``, grown to whole paragraphs (A.1.1).

    None if none of the pages is in the opinion.  Paragraphs stand once and in their order; the
    released code repeats those that two cited pages share, and takes the whole opinion up to or from
    a page whose neighbour has no label.  Footnotes behind the last page are not of that page.
    """
    wanted = set(pages)
    spans: list[tuple[int, int]] = []
    for place, page in enumerate(opinion.pages):
        if page.label not in wanted:
            continue
        following = opinion.pages[place + 1].offset if place + 1 < len(opinion.pages) else opinion.body_end
        span = _paragraphs(opinion.text, page.offset, min(following, opinion.body_end))
        if span is None:
            continue
        if spans and span[0] <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], span[1]))
        else:
            spans.append(span)
    if not spans:
        return None
    return Premise("\n".join(opinion.text[start:end] for start, end in spans), tuple(spans))


def _paragraphs(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The paragraphs of which a part stands between two offsets; None if only white space does."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start >= end:
        return None
    closing = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if closing < 0 else closing


class MajorityOpinions:
    """Majority opinions of a corpus, read where they lie: at most ``HELD`` row groups in memory."""

    def __init__(self, shards: Sequence[str | Path]) -> None:
        """Take the opinion files in the order in which `case_index` numbers them."""
        self._paths = [Path(shard) for shard in shards]
        self._starts: dict[int, list[int]] = {}
        self._held: OrderedDict[tuple[int, int], list[dict[str, Any]]] = OrderedDict()

    def at(self, shard: int, row: int) -> MajorityOpinion:
        """Return the opinion in a row of a shard."""
        if shard not in self._starts:
            metadata = pq.read_metadata(self._paths[shard])
            starts = [0]
            for group in range(metadata.num_row_groups):
                starts.append(starts[-1] + metadata.row_group(group).num_rows)
            self._starts[shard] = starts
        starts = self._starts[shard]
        group = bisect.bisect_right(starts, row) - 1
        found = self._group(shard, group)[row - starts[group]]
        return MajorityOpinion(
            opinion_id=found["opinion_id"],
            text=found["text"],
            pages=tuple(Page(page["label"], page["offset"]) for page in found["pages"]),
            body_end=found["body_end"],
            reporter=found["reporter"],
            volume=found["volume"],
        )

    def _group(self, shard: int, group: int) -> list[dict[str, Any]]:
        key = (shard, group)
        if key in self._held:
            self._held.move_to_end(key)
        else:
            with pq.ParquetFile(self._paths[shard]) as file:
                self._held[key] = file.read_row_group(group, columns=_COLUMNS).to_pylist()
            if len(self._held) > HELD:
                self._held.popitem(last=False)
        return self._held[key]
