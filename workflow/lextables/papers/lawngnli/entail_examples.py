"""LawngNLI, Appendices A.1.1 and A.1.2, for one shard: from candidates to Entail examples.

A candidate becomes an example if it has a short premise (the cited pages of a majority opinion) and passes
the accuracy filters. This needs the index of the whole corpus (`case_index`).
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.papers.lawngnli.accuracy import Pipeline, hypothesis_of, metadata_keyword, more_metadata
from lextables.papers.lawngnli.case_index import CaseIndex
from lextables.papers.lawngnli.citation_keys import volume_key
from lextables.papers.lawngnli.majority_opinions import MajorityOpinion, MajorityOpinions
from lextables.papers.lawngnli.schema.parentheticals import PARENTHETICALS
from lextables.papers.lawngnli.step_counts import StepCounts
from lextables.pipeline import dataset

_WORD = re.compile(r"\w+")
# Candidates whose premises are looked up together, in their order on disk.
BATCH = 2048

PINCITE = "with a pincite"
PAGES = "with resolvable pages"
MAJORITY = "in a case with a single majority opinion"
PREMISE = "with those pages in the majority opinion"
PARTIES = "no later case with the same parties"
HISTORY = "no history flag"
METADATA = "no metadata keyword"
MORE_METADATA = "no other metadata"
VERB = "leading verb supports its clause"
ONCE = "no repetition in the citing case"
FUNNEL = (PINCITE, PAGES, MAJORITY, PREMISE, PARTIES, HISTORY, METADATA, MORE_METADATA, VERB, ONCE)


@dataclass(frozen=True)
class Premise:
    """A short premise: its text, and its (start, end) spans in the majority opinion, ascending."""

    text: str
    spans: tuple[tuple[int, int], ...]


def write_parentheticals(
    candidates: str | Path,
    index: CaseIndex,
    majorities: MajorityOpinions,
    pipeline: Pipeline,
    path: str | Path,
) -> StepCounts:
    """Write the candidates that have a short premise and pass the accuracy filters (A.1.1, A.1.2).

    ``path`` becomes a table of `PARENTHETICALS`. Filters run in the paper's order. Then a hypothesis that
    several opinions of a case take from the same cited case counts once, where it comes first; case and
    punctuation do not count.
    """
    counts: Counter[str] = Counter()
    hypotheses: set[tuple[int, int, str]] = set()

    def rows() -> Iterator[dict[str, Any]]:
        names = [column.name for column in PARENTHETICALS.columns]
        remaining = dataset.read(candidates)
        while batch := list(itertools.islice(remaining, BATCH)):
            batch = [row for row in batch if _cites_pages(row, counts)]
            for row, premise in zip(batch, _premises(batch, index, majorities, counts), strict=True):
                if premise is None:
                    continue
                counts[PREMISE] += 1
                hypothesis = _accurate(row, pipeline, counts)
                words = _WORD.findall((hypothesis or "").lower())
                key = (row["citing_case_id"], row["cited_case_id"], " ".join(words))
                if hypothesis is not None and key not in hypotheses:
                    hypotheses.add(key)
                    counts[ONCE] += 1
                    example = {
                        **row,
                        "hypothesis": hypothesis,
                        "short_premise": premise.text,
                        "premise_start": premise.spans[0][0],
                        "premise_end": premise.spans[-1][1],
                        "premise_spans": [{"start": start, "end": end} for start, end in premise.spans],
                    }
                    yield {name: example[name] for name in names}

    dataset.write(PARENTHETICALS, rows(), path)
    funnel = {step: counts.pop(step, 0) for step in FUNNEL}
    return StepCounts(funnel, dict(sorted(counts.items())))


def _cites_pages(row: Mapping[str, Any], counts: Counter[str]) -> bool:
    counts[PINCITE] += row["pincite"] is not None
    counts[PAGES] += bool(row["pages"])
    return bool(row["pages"])


def _premises(
    rows: list[dict[str, Any]], index: CaseIndex, majorities: MajorityOpinions, counts: Counter[str]
) -> list[Premise | None]:
    """The short premise of each row; opinions are read in their order on disk."""
    places = [(index.record(row["cited_case_id"]), number) for number, row in enumerate(rows)]
    places = [(record, number) for record, number in places if record.row is not None]
    counts[MAJORITY] += len(places)
    premises: list[Premise | None] = [None] * len(rows)
    for record, number in sorted(places, key=lambda place: (place[0].shard, place[0].row or 0, place[1])):
        opinion = majorities.at(record.shard, record.row or 0)
        if rows[number]["pages_of"] != volume_key(opinion.volume, opinion.reporter):
            counts["pages of a reporter that is not labelled"] += 1
        else:
            premises[number] = short_premise(opinion, rows[number]["pages"])
    return premises


def _accurate(row: Mapping[str, Any], pipeline: Pipeline, counts: Counter[str]) -> str | None:
    """The hypothesis of a row, or None if one of the accuracy filters drops it (A.1.2)."""
    if row["met_again"]:
        return None
    counts[PARTIES] += 1
    if row["history"]:
        return None
    counts[HISTORY] += 1
    if metadata_keyword(row["parenthetical"]):
        return None
    counts[METADATA] += 1
    if more_metadata(row["parenthetical"], row["following"]):
        return None
    counts[MORE_METADATA] += 1
    hypothesis = hypothesis_of(row["parenthetical"], pipeline)
    counts[VERB] += hypothesis is not None
    return hypothesis


def short_premise(opinion: MajorityOpinion, pages: Sequence[str]) -> Premise | None:
    """Return the cited pages of ``opinion``, extended to whole paragraphs (A.1.1).

    None if the opinion has none of the pages. Each paragraph occurs once, in its order. The released code
    repeats paragraphs that two cited pages share, and takes the whole opinion up to or from a page whose
    neighbour has no label. Footnotes after the last page do not belong to that page.
    """
    cited = set(pages)
    spans: list[tuple[int, int]] = []
    for place, page in enumerate(opinion.pages):
        if page.label not in cited:
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
    """The span of the paragraphs that ``start`` to ``end`` touches; None if it is only white space."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start >= end:
        return None
    closing = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, len(text) if closing < 0 else closing
