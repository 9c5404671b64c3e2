"""LawngNLI, Appendices A.1.1 and A.1.2, for one shard: from candidates to Entail
examples.

A candidate becomes an example if it has a short premise (the cited pages of a majority
opinion) and passes the accuracy filters.  The cited opinion may be in another shard, so
the index of the whole corpus (`case_index`) and the opinions of all shards are read.
"""

import bisect
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from lextables.corpora.caselaw.opinion import Page
from lextables.papers.lawngnli.citations.candidates import (
    CITED,
    CITING_DATE,
    PARENTHETICAL,
)
from lextables.papers.lawngnli.citations.case_index import CaseIndex, volume_key
from lextables.papers.lawngnli.hypotheses.accuracy import (
    Pipeline,
    hypothesis_of,
    metadata_keyword,
    more_metadata,
    points_outside,
)
from lextables.papers.lawngnli.premises.citation_removal import keeps_figures_of
from lextables.papers.lawngnli.steps import CITING, SPANS, STRINGS, StepCounts
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Column, Row, Table
from lextables.pipeline.files import damage_named

PARENTHETICALS = Table(
    name="parentheticals",
    description="A.1.1 and A.1.2: one row an Entail example before its negation is looked at.",
    columns=(
        *CITING,
        CITING_DATE,
        *CITED,
        Column("pincite", pa.string(), "the pincite as matched"),
        Column(
            "pages",
            STRINGS,
            "labels of the pages whose text the pincite cites, ascending",
        ),
        *PARENTHETICAL,
        Column("hypothesis", pa.string(), "the parenthetical after A.1.2"),
        Column(
            "short_premise",
            pa.string(),
            "the cited pages of the majority opinion in whole paragraphs",
        ),
        Column(
            "premise_start",
            pa.int32(),
            "offset of the short premise in the majority opinion's text",
        ),
        Column("premise_end", pa.int32(), "offset after it"),
        Column(
            "premise_spans",
            SPANS,
            "the offsets of its parts, where the pages are not consecutive",
        ),
    ),
    key=("example_id",),
    labels=("kind",),
    ordered=False,
)

# Row groups of opinion files in memory, each of some 32 opinions and 1 MB.
HELD = 64
_COLUMNS = ["opinion_id", "text", "pages", "body_end", "reporter", "volume"]
_WORD = re.compile(r"\w+")
# The end of a sentence at the end of a text, with closing marks and marks of notes.
_SENTENCE_END = re.compile(
    r"[.?!][\"'”’)\]]*(?: ?\[Footnote [^\]]*\]|\d{1,3}|[*†])*[\"'”’)\]]*\s*$"
)
# Candidates whose premises are looked up together, in their order on disk.
BATCH = 2048

# The steps of the funnel, each with what is left after it.
PINCITE = "with a pincite"
PAGES = "with resolvable pages"
MAJORITY = "in a case with a single majority opinion"
PREMISE = "with those pages in the majority opinion"
PARTIES = "no later case with the same parties"
HISTORY = "no history flag"
METADATA = "no metadata keyword"
MORE_METADATA = "no other metadata"
VERB = "leading verb supports its clause"
ALONE = "names what it is about"
FIGURES = "figures in the premise"
ONCE = "no repetition in the citing case"
FUNNEL = (
    PINCITE,
    PAGES,
    MAJORITY,
    PREMISE,
    PARTIES,
    HISTORY,
    METADATA,
    MORE_METADATA,
    VERB,
    ALONE,
    FIGURES,
    ONCE,
)


@dataclass(frozen=True)
class MajorityOpinion:
    """The single majority opinion of a case, which is its long premise.

    ``volume`` is the reporter and volume whose pages ``pages`` labels, ``body_end`` the
    offset at which the footnotes begin.
    """

    opinion_id: str
    text: str
    pages: tuple[Page, ...]
    body_end: int
    reporter: str
    volume: str


class MajorityOpinions:
    """Random access to majority opinions, with at most ``HELD`` row groups in
    memory.
    """

    def __init__(self, shards: Sequence[str | Path]) -> None:
        """``shards`` are the opinion files, in the order of `case_index`."""
        self._paths = [Path(shard) for shard in shards]
        # The caches belong to this object and not to its class, so that they end with
        # the object.  With many volumes a file has so many row groups that opening it
        # takes longer than reading one of them.
        self._file = lru_cache(1)(self._open_file)
        self._starts = cache(self._read_starts)
        self._group = lru_cache(HELD)(self._read_group)

    def at(self, shard: int, row: int) -> MajorityOpinion:
        """Return the opinion in a row of a shard."""
        starts = self._starts(shard)
        group = bisect.bisect_right(starts, row) - 1
        opinion = self._group(shard, group)[row - starts[group]]
        pages = tuple(Page(page["label"], page["offset"]) for page in opinion["pages"])
        return MajorityOpinion(**{**opinion, "pages": pages})

    def _open_file(self, shard: int) -> pq.ParquetFile:
        return dataset.opened(self._paths[shard])

    def _read_starts(self, shard: int) -> list[int]:
        """The first row of each row group, and the number of rows."""
        metadata = self._file(shard).metadata
        sizes = (
            metadata.row_group(group).num_rows
            for group in range(metadata.num_row_groups)
        )
        return [0, *itertools.accumulate(sizes)]

    def _read_group(self, shard: int, group: int) -> list[Row]:
        with damage_named(self._paths[shard]):
            return self._file(shard).read_row_group(group, columns=_COLUMNS).to_pylist()


@dataclass(frozen=True)
class Premise:
    """A short premise: its text, and its (start, end) spans in the majority opinion,
    ascending.
    """

    text: str
    spans: tuple[tuple[int, int], ...]


def write_parentheticals(
    candidates: str | Path,
    index: CaseIndex,
    majorities: MajorityOpinions,
    pipeline: Pipeline,
    path: str | Path,
) -> StepCounts:
    """Write the candidates that have a short premise and pass the accuracy filters
    (A.1.1, A.1.2).

    ``path`` becomes a table of `PARENTHETICALS`.  Filters run in the paper's order.  At
    the end, only the first of several equal hypotheses of a citing case about the same
    cited case is kept; capitals and punctuation make no difference.
    """
    counts: Counter[str] = Counter()
    # (citing case, cited case, words) of those that were written
    hypotheses: set[tuple[int, int, str]] = set()

    def rows() -> Iterator[Row]:
        remaining = dataset.read(candidates)
        while batch := list(itertools.islice(remaining, BATCH)):
            citing = [row for row in batch if _cites_pages(row, counts)]
            premises = _premises(citing, index, majorities, counts)
            for row, premise in zip(citing, premises, strict=True):
                if premise is None:
                    continue
                counts[PREMISE] += 1
                hypothesis = _accurate(row, premise.text, pipeline, counts)
                words = _WORD.findall((hypothesis or "").lower())
                key = (row["citing_case_id"], row["cited_case_id"], " ".join(words))
                if hypothesis is not None and key not in hypotheses:
                    hypotheses.add(key)
                    counts[ONCE] += 1
                    yield {
                        **row,
                        "hypothesis": hypothesis,
                        "short_premise": premise.text,
                        "premise_start": premise.spans[0][0],
                        "premise_end": premise.spans[-1][1],
                        "premise_spans": [
                            {"start": start, "end": end} for start, end in premise.spans
                        ],
                    }

    dataset.write(PARENTHETICALS, rows(), path)
    funnel = {step: counts.pop(step, 0) for step in FUNNEL}
    return StepCounts(funnel, dict(sorted(counts.items())))


def _cites_pages(row: Row, counts: Counter[str]) -> bool:
    """Whether a candidate cites pages that are resolvable; counts these two steps."""
    counts[PINCITE] += row["pincite"] is not None
    counts[PAGES] += bool(row["pages"])
    return bool(row["pages"])


def _premises(
    rows: Sequence[Row],
    index: CaseIndex,
    majorities: MajorityOpinions,
    counts: Counter[str],
) -> list[Premise | None]:
    """The short premise of each row, or None; opinions are read in their order on disk.

    Counts the rows with a single majority opinion.
    """
    places = []  # (shard and row of the opinion, number of the candidate)
    for number, row in enumerate(rows):
        record = index.record(row["cited_case_id"])
        if record.row is not None:
            places.append((record.shard, record.row, number))
    counts[MAJORITY] += len(places)
    premises: list[Premise | None] = [None] * len(rows)
    for shard, opinion_row, number in sorted(places):
        opinion = majorities.at(shard, opinion_row)
        if rows[number]["pages_of"] != volume_key(opinion.volume, opinion.reporter):
            counts["pages of a reporter that is not labelled"] += 1
        else:
            premises[number] = short_premise(opinion, rows[number]["pages"])
    return premises


def _accurate(
    row: Row, premise: str, pipeline: Pipeline, counts: Counter[str]
) -> str | None:
    """The hypothesis of a row, or None if one of the accuracy filters drops it (A.1.2).

    Counts the filters that it passes.
    """
    filters = {
        PARTIES: row["met_again"],
        HISTORY: row["history"],
        METADATA: metadata_keyword(row["parenthetical"]),
        MORE_METADATA: more_metadata(row["parenthetical"], row["others"]),
    }
    for step, drops in filters.items():
        if drops:
            return None
        counts[step] += 1
    hypothesis = hypothesis_of(row["parenthetical"], pipeline)
    if hypothesis is None:
        return None
    counts[VERB] += 1
    if points_outside(hypothesis):
        return None
    counts[ALONE] += 1
    if not keeps_figures_of(premise, hypothesis):
        return None
    counts[FIGURES] += 1
    return hypothesis


def short_premise(opinion: MajorityOpinion, pages: Sequence[str]) -> Premise | None:
    """Return the cited pages of ``opinion``, extended to whole paragraphs (A.1.1).

    None if the opinion has none of the pages.  Each paragraph occurs once, in the order
    of the opinion.  Footnotes after the last page do not belong to that page.  A
    sentence may go on in another paragraph, as around a block quotation: the next
    paragraph is added where the last one ends in the middle of a sentence, and the
    previous one where the first begins with a small letter.

    The released code repeats paragraphs that two cited pages share, and takes the whole
    opinion up to or from a page whose neighbour has no label.
    """
    cited = set(pages)
    spans: list[tuple[int, int]] = []
    for place, page in enumerate(opinion.pages):
        if page.label not in cited:
            continue
        following = opinion.body_end
        if place + 1 < len(opinion.pages):
            following = opinion.pages[place + 1].offset
        following = min(following, opinion.body_end)
        span = _paragraphs(opinion.text, page.offset, following, opinion.body_end)
        if span is None:
            continue
        if spans and span[0] <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], span[1]))
        else:
            spans.append(span)
    if not spans:
        return None
    return Premise(
        "\n".join(opinion.text[start:end] for start, end in spans), tuple(spans)
    )


def _paragraphs(
    text: str, start: int, end: int, body_end: int
) -> tuple[int, int] | None:
    """The span of the paragraphs that ``start`` to ``end`` touches, extended to whole
    sentences in the text before ``body_end``; None if it is only white space.
    """
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start >= end:
        return None
    opening = text.rfind("\n", 0, start) + 1
    while opening > 0 and text[opening].islower():
        opening = text.rfind("\n", 0, opening - 1) + 1
    closing = _paragraph_end(text, end)
    while not _SENTENCE_END.search(text, opening, closing):
        following = closing
        while following < body_end and text[following].isspace():
            following += 1
        if following >= body_end:
            break
        closing = _paragraph_end(text, following)
    return opening, closing


def _paragraph_end(text: str, offset: int) -> int:
    """The offset after the paragraph that ``offset`` is in."""
    end = text.find("\n", offset)
    return end if end >= 0 else len(text)
