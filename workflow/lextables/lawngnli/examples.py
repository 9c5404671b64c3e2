"""LawngNLI, Appendices A.1.4 to A.1.9 over all shards: from Entail examples and their twins to the data set.

The result is the same whatever the number of shards.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from lextables import dataset
from lextables.lawngnli.balance import TEST_SHARE, balance, balanced, in_analysis
from lextables.lawngnli.citation_network import CitationNetwork
from lextables.lawngnli.citation_removal import remove_citations
from lextables.lawngnli.difficulty import difficulty_fault
from lextables.lawngnli.labels import assign_labels, labelled
from lextables.lawngnli.neutralization import (
    PREMISE_FIELDS,
    Encode,
    chosen_premises,
    neutral_premises,
    neutralized,
)
from lextables.lawngnli.outcomes import outcomes
from lextables.lawngnli.schema.examples import EXAMPLES, UNFILTERED
from lextables.lawngnli.schema.long_premises import LONG_PREMISES
from lextables.lawngnli.twins import twinned

Row = dict[str, Any]

CONVERTED = "as difficult once converted"
NEUTRALIZED = "with a candidate for a neutral premise"
BALANCED = "balanced"
TWINNED = "with twins"


@dataclass(frozen=True)
class Shard:
    """The files of one shard, as the rules before this one wrote them."""

    parentheticals: str | Path
    contradictions: str | Path
    cites: str | Path
    long_premises: str | Path


def write_examples(
    shards: Sequence[Shard], encode: Encode, seed: int, examples: str | Path, long_premises: str | Path, *,
    filtered: bool = True, test_share: float = TEST_SHARE,
) -> dict[str, int]:  # fmt: skip
    """Write the finished data set and its long premises; return the funnel's last four steps, in order.

    Order: labels in strata (A.1.4), the difficulty filters on the hypotheses as converted (A.1.6), neutral
    premises (A.1.7), citations out of the premises (A.1.9), the analysis subset, balance and split, twins
    (A.1.8).  Where none is to be ``filtered`` by difficulty those that it would drop stay, with their
    ``fault``.  Memory: the accepted examples with their short premises, and one embedding each.
    """
    rows = entail_rows(shards)
    converted = [row for row in _converted(rows, seed) if not filtered or row["fault"] is None]
    paired = _paired(rows, converted, _network(shards), encode)
    tokens = _tokens(shards)
    for row in paired:
        row["analysis"] = in_analysis(tokens[row["cited_case_id"]])
    kept = list(balanced(paired, balance(paired, seed, test_share)))
    written = dataset.write(EXAMPLES, _finished(kept), examples)
    dataset.write(LONG_PREMISES, _premises_of(kept, shards), long_premises)
    return {CONVERTED: len(converted), NEUTRALIZED: len(paired), BALANCED: len(kept), TWINNED: written}


def write_unfiltered(shards: Sequence[Shard], path: str | Path) -> int:
    """Write every Entail candidate with the reason it left, or its twin: the paper's unfiltered-LawngNLI2."""

    def rows() -> Iterator[Row]:
        names = [column.name for column in UNFILTERED.columns]
        for shard in shards:
            for outcome, row in outcomes(shard.contradictions, shard.parentheticals):
                whole = row | outcome
                yield {name: whole[name] for name in names}

    return dataset.write(UNFILTERED, rows(), path)


def entail_rows(shards: Sequence[Shard]) -> list[Row]:
    """Return the Entail examples that the contradiction algorithm took, sorted by example id."""
    rows = [
        row | {key: outcome[key] for key in ("negated", "twin")}
        for shard in shards
        for outcome, row in outcomes(shard.contradictions, shard.parentheticals)
        if outcome["twin"] is not None
    ]
    return sorted(rows, key=itemgetter("example_id"))


def _network(shards: Sequence[Shard]) -> CitationNetwork:
    return CitationNetwork(
        (row["citing_case_id"], row["cited_case_id"]) for shard in shards for row in dataset.read(shard.cites)
    )


def _tokens(shards: Sequence[Shard]) -> dict[int, int]:
    """The length of each long premise."""
    return {
        row["case_id"]: row["tokens"]
        for shard in shards
        for row in dataset.read(shard.long_premises, ["case_id", "tokens"])
    }


def _converted(rows: Sequence[Row], seed: int) -> list[Row]:
    """The rows with their labels, and what the difficulty filters say of them once converted."""
    labels = assign_labels(rows, seed)
    converted = (labelled(row, labels[row["example_id"]]) for row in rows)
    return [row | {"fault": difficulty_fault(row["hypothesis"], row["short_premise"])} for row in converted]


def _paired(
    rows: Sequence[Row], converted: Sequence[Row], network: CitationNetwork, encode: Encode
) -> list[Row]:
    """The ``converted`` rows that find a neutral premise, which Neutral ones take.

    Every hypothesis is asked about as it was before it was labelled, whatever its label.
    """
    difficult = {row["example_id"] for row in converted}
    asked = [row for row in rows if row["example_id"] in difficult]
    pairings = neutral_premises(asked, network, encode)
    wanted = chosen_premises(converted, pairings)
    premises = {row["example_id"]: row for row in asked if row["example_id"] in wanted}
    return list(neutralized(converted, pairings, premises, PREMISE_FIELDS))


def _finished(kept: Iterable[Row]) -> Iterator[Row]:
    """The rows of `EXAMPLES`: each example and its twin, citations out of their short premises."""
    names = [column.name for column in EXAMPLES.columns]
    without: dict[str, str] = {}
    for row in twinned(kept):
        original = row["short_premise"]
        if original not in without:
            without[original] = remove_citations(original)
        whole = row | {"short_premise": without[original], "short_premise_original": original}
        yield {name: whole[name] for name in names}


def _premises_of(kept: Iterable[Row], shards: Sequence[Shard]) -> Iterator[Row]:
    """The long premises of the examples, by case, so that no order tells how the volumes were cut."""
    used = {row["cited_case_id"] for row in kept}
    merged = heapq.merge(*(dataset.read(shard.long_premises) for shard in shards), key=itemgetter("case_id"))
    return (row for row in merged if row["case_id"] in used)
