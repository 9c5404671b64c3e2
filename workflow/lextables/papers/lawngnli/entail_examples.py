"""LawngNLI, Appendices A.1.1 and A.1.2 over one shard: from candidates to Entail examples.

Candidates become examples if they have a premise and pass the accuracy filters.  This needs the index of
the whole corpus (`case_index`).
"""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lextables.papers.lawngnli.accuracy import Pipeline, hypothesis_of, metadata_keyword, more_metadata
from lextables.papers.lawngnli.case_index import CaseIndex
from lextables.papers.lawngnli.citation_keys import volume_key
from lextables.papers.lawngnli.majority_opinions import MajorityOpinions
from lextables.papers.lawngnli.premises import Premise, short_premise
from lextables.papers.lawngnli.schema.parentheticals import PARENTHETICALS
from lextables.papers.lawngnli.step_counts import StepCounts
from lextables.pipeline import dataset

# Premises of so many candidates are looked up together, in the order in which they lie on disk.
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
FUNNEL = (PINCITE, PAGES, MAJORITY, PREMISE, PARTIES, HISTORY, METADATA, MORE_METADATA, VERB)


def write_parentheticals(
    candidates: str | Path,
    index: CaseIndex,
    majorities: MajorityOpinions,
    pipeline: Pipeline,
    path: str | Path,
) -> StepCounts:
    """Write the candidates that have a short premise and pass the accuracy filters (A.1.1, A.1.2).

    ``path`` becomes a table of `PARENTHETICALS`.  The filters come in the paper's order.
    """
    counts: Counter[str] = Counter()

    def rows() -> Iterator[dict[str, Any]]:
        names = [column.name for column in PARENTHETICALS.columns]
        read = dataset.read(candidates)
        while batch := list(itertools.islice(read, BATCH)):
            batch = [row for row in batch if _cites_pages(row, counts)]
            for row, premise in zip(batch, _premises(batch, index, majorities, counts), strict=True):
                if premise is None:
                    continue
                counts[PREMISE] += 1
                hypothesis = _accurate(row, pipeline, counts)
                if hypothesis is not None:
                    whole = {
                        **row,
                        "hypothesis": hypothesis,
                        "short_premise": premise.text,
                        "premise_start": premise.spans[0][0],
                        "premise_end": premise.spans[-1][1],
                        "premise_spans": [{"start": start, "end": end} for start, end in premise.spans],
                    }
                    yield {name: whole[name] for name in names}

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
    """The short premise of each row, found in the order in which the opinions lie on disk."""
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
