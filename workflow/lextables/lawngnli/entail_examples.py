"""LawngNLI, Appendices A.1.1 and A.1.2 over one shard of opinions: from opinions to Entail examples.

Two steps, each one file in and one out, so that volumes can be worked on in any number of jobs: the
parentheticals that resolve to a case, then those that have a premise and pass the accuracy filters.
Both need the index of the whole corpus (`case_index`).
"""

import itertools
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from eyecite.tokenizers import Tokenizer

from lextables import dataset
from lextables.lawngnli.accuracy import Pipeline, hypothesis_of, metadata_keyword, more_metadata
from lextables.lawngnli.case_index import AMBIGUOUS, CaseHeading, CaseIndex
from lextables.lawngnli.citations import Resource, volume_key
from lextables.lawngnli.parentheticals import read_parentheticals
from lextables.lawngnli.premises import MajorityOpinions, Premise, short_premise
from lextables.lawngnli.schema import CANDIDATES, CITES, PARENTHETICALS

# Premises of so many candidates are looked up together, in the order in which they lie on disk.
BATCH = 2048
# Problems named one by one in a log; the rest are counted.
NAMED = 20

Funnel = dict[str, int]

CITATIONS = "citations of cases"
READ = "parentheticals of citations"
RESOLVED = "about a case of the corpus"
PINCITE = "with a pincite"
PAGES = "with resolvable pages"
MAJORITY = "in a case with a single majority opinion"
PREMISE = "with those pages in the majority opinion"
PARTIES = "no later case with the same parties"
HISTORY = "no history flag"
METADATA = "no metadata keyword"
MORE_METADATA = "no other metadata"
VERB = "leading verb supports its clause"
FUNNEL = (
    CITATIONS,
    READ,
    RESOLVED,
    PINCITE,
    PAGES,
    MAJORITY,
    PREMISE,
    PARTIES,
    HISTORY,
    METADATA,
    MORE_METADATA,
    VERB,
)


@dataclass(frozen=True)
class Outcome:
    """How many are left after each step, what else was counted, and the first problems, a sentence each."""

    funnel: Funnel
    counts: dict[str, int]
    problems: tuple[str, ...]


def write_candidates(
    opinions: str | Path, index: CaseIndex, tokens: Tokenizer, path: str | Path, cites: str | Path
) -> Outcome:
    """Write the parentheticals of a file of opinions that resolve to a case (A.1.1).

    ``path`` becomes a table of `schema.CANDIDATES`, ``cites`` one of `schema.CITES` with every
    resolved citation, with a parenthetical or not.  A citation that belongs to two cases is not
    resolved, and counted; so is a parenthesis that is never closed or too long.
    """
    counts: Counter[str] = Counter()
    problems: list[str] = []
    pairs = array("q")

    def resource_of(key: str) -> Resource:
        case_id = index.case_of(key)
        if case_id == AMBIGUOUS:
            counts["citations of two cases"] += 1
        return key if case_id is None or case_id == AMBIGUOUS else case_id

    def rows() -> Iterator[dict[str, Any]]:
        for opinion in dataset.read(opinions):
            reading = read_parentheticals(opinion["text"], tokens, resource_of)
            counts.update(reading.counts)
            counts[CITATIONS] += sum(n for kind, n in reading.counts.items() if kind.endswith(" citations"))
            counts[READ] += len(reading.parentheticals)
            for unread in reading.unread:
                counts["parentheses not read"] += 1
                if len(problems) < NAMED:
                    problems.append(f"{opinion['opinion_id']}, character {unread.start}: {unread.why}.")
            citing = opinion["case_id"]
            for cited in reading.cited:
                if isinstance(cited, int) and cited != citing:
                    pairs.extend((citing, cited))
            heading = CaseHeading(
                *(opinion[c] for c in ("case_id", "name", "date", "reporter", "volume", "first_page"))
            )
            met_again: bool | None = None
            for read in reading.parentheticals:
                # An opinion does not cite its own case: such a citation was resolved wrongly.
                if not isinstance(read.resource, int) or read.resource == citing:
                    continue
                met_again = index.met_again(heading) if met_again is None else met_again
                counts[RESOLVED] += 1
                yield {
                    "example_id": f"{opinion['opinion_id']}:{read.start}",
                    "citing_case_id": citing,
                    "citing_jurisdiction": opinion["jurisdiction"],
                    "citing_date": opinion["date"],
                    "citing_type": opinion["opinion_type"],
                    "met_again": met_again,
                    "cited_case_id": read.resource,
                    "cited_jurisdiction": index.record(read.resource).jurisdiction,
                    "citation": read.citation,
                    "kind": read.kind,
                    "pincite": read.pincite,
                    "pages": list(read.pages),
                    "pages_of": read.volume,
                    "history": read.history,
                    "parenthetical": read.text,
                    "following": read.following,
                }

    dataset.write(CANDIDATES, rows(), path)
    edges = np.unique(np.frombuffer(pairs, dtype=np.int64).reshape(-1, 2), axis=0)
    dataset.write(
        CITES, (dict(zip(("citing_case_id", "cited_case_id"), e, strict=True)) for e in edges.tolist()), cites
    )
    funnel = {step: counts.pop(step, 0) for step in FUNNEL[:3]}
    return Outcome(funnel, dict(sorted(counts.items())), tuple(problems))


def write_parentheticals(
    candidates: str | Path,
    index: CaseIndex,
    majorities: MajorityOpinions,
    pipeline: Pipeline,
    path: str | Path,
) -> Outcome:
    """Write the candidates that have a short premise and pass the accuracy filters (A.1.1, A.1.2).

    ``path`` becomes a table of `schema.PARENTHETICALS`.  The filters come in the paper's order.
    """
    counts: Counter[str] = Counter()

    def rows() -> Iterator[dict[str, Any]]:
        read = dataset.read(candidates)
        while batch := list(itertools.islice(read, BATCH)):
            batch = [row for row in batch if _cites_pages(row, counts)]
            for row, premise in zip(batch, _premises(batch, index, majorities, counts), strict=True):
                if premise is None:
                    continue
                counts[PREMISE] += 1
                hypothesis = _accurate(row, pipeline, counts)
                if hypothesis is not None:
                    yield {
                        **{name: row[name] for name in _KEPT},
                        "hypothesis": hypothesis,
                        "short_premise": premise.text,
                        "premise_start": premise.spans[0][0],
                        "premise_end": premise.spans[-1][1],
                        "premise_spans": [{"start": start, "end": end} for start, end in premise.spans],
                    }

    dataset.write(PARENTHETICALS, rows(), path)
    funnel = {step: counts.pop(step, 0) for step in FUNNEL[3:]}
    return Outcome(funnel, dict(sorted(counts.items())), ())


_KEPT = [
    column.name for column in PARENTHETICALS.columns if column.name in {c.name for c in CANDIDATES.columns}
]


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
