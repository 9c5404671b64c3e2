"""LawngNLI, Appendices A.1.4 to A.1.9 over all shards: from Entail examples and their twins to the data set.

The result is the same whatever the number of shards.  What does not fit in memory for the whole project
stands on disk between the steps, by the jurisdiction of the premise, inside which neutral premises are found.
"""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq

from lextables.papers.lawngnli.balance import TEST_SHARE, balance, balanced, in_analysis
from lextables.papers.lawngnli.citation_network import CitationNetwork, pairs_of
from lextables.papers.lawngnli.citation_removal import remove_citations
from lextables.papers.lawngnli.difficulty import difficulty_fault
from lextables.papers.lawngnli.jurisdictions import part
from lextables.papers.lawngnli.labels import CONTRADICT, assign_labels, contradicted, labelled
from lextables.papers.lawngnli.neutralization import (
    PREMISE_FIELDS,
    Encode,
    chosen_premises,
    neutral_premises,
    neutralized,
)
from lextables.papers.lawngnli.outcomes import outcomes
from lextables.papers.lawngnli.schema.examples import EXAMPLES, LABELLED, PAIRED, UNFILTERED
from lextables.papers.lawngnli.schema.long_premises import LONG_PREMISES
from lextables.papers.lawngnli.twins import twinned
from lextables.pipeline import dataset

Row = dict[str, Any]

CONVERTED = "as difficult once converted"
NEUTRALIZED = "with a candidate for a neutral premise"
BALANCED = "balanced"
TWINNED = "with twins"

# Short premises whose citations are taken out once, since examples next to each other share them: 40 MB.
SHORT_PREMISES = 4096


@dataclass(frozen=True)
class Shard:
    """The files of one shard, as the rules before this one wrote them."""

    parentheticals: str | Path
    contradictions: str | Path
    cites: str | Path
    long_premises: str | Path


def write_examples(
    shards: Sequence[Shard], encode: Encode, seed: int, examples: str | Path, long_premises: str | Path, *,
    filtered: bool = True, test_share: float = TEST_SHARE, scratch: str | Path | None = None,
) -> dict[str, int]:  # fmt: skip
    """Write the finished data set and its long premises; return the funnel's last steps, in order.

    Order: labels in strata (A.1.4), the difficulty filters on the hypotheses as converted (A.1.6), neutral
    premises (A.1.7), citations out of the premises (A.1.9), the analysis subset, balance and split, twins
    (A.1.8).  Where none is to be ``filtered`` by difficulty those that it would drop stay, with their
    ``fault``, and the funnel has no such step.  Memory: the accepted examples of the largest jurisdiction
    with their short premises, and one embedding each; of all examples the name, label and split, and the
    citations of their cases.  On disk below ``scratch``: the accepted examples, once more.
    """
    with TemporaryDirectory(dir=scratch) as folder:
        converted = part(_converted(shards, seed, filtered), LABELLED, Path(folder, "labelled"))
        steps = {CONVERTED: _rows(converted)} if filtered else {}
        paired = list(_paired(converted, shards, encode, Path(folder, "paired")))
        splits = balance(_read(paired, ["example_id", "label", "negated", "analysis"]), seed, test_share)
        by_example = heapq.merge(*map(dataset.read, paired), key=itemgetter("example_id"))
        written = dataset.write(EXAMPLES, _finished(balanced(by_example, splits)), examples)
        used = {
            row["cited_case_id"]
            for row in _read(paired, ["example_id", "cited_case_id"])
            if row["example_id"] in splits
        }
        dataset.write(LONG_PREMISES, long_premises_of(used, shards), long_premises)
        return steps | {NEUTRALIZED: _rows(paired), BALANCED: len(splits), TWINNED: written}


def write_unfiltered(shards: Sequence[Shard], path: str | Path) -> int:
    """Write every Entail candidate with the reason it left, or its twin: the paper's unfiltered-LawngNLI2."""

    def rows() -> Iterator[Row]:
        names = [column.name for column in UNFILTERED.columns]
        for shard in shards:
            for outcome, row in outcomes(shard.contradictions, shard.parentheticals):
                whole = row | outcome
                yield {name: whole[name] for name in names}

    return dataset.write(UNFILTERED, rows(), path)


def long_premises_of(cases: set[int], shards: Sequence[Shard]) -> Iterator[Row]:
    """Yield the long premises of ``cases``, by case, so that no order tells how the volumes were cut.

    A shard's file is opened when the turn of its first case comes, for not all would fit in memory.
    """

    def opened(path: str | Path, first: Row) -> Iterator[Row]:
        yield first  # the merge asks for the next when this one's turn has come
        yield from dataset.read(path)

    paths = [shard.long_premises for shard in shards]
    firsts = [next(dataset.read(path, ["case_id"]), None) for path in paths]
    tables = [opened(path, first) for path, first in zip(paths, firsts, strict=True) if first is not None]
    merged = heapq.merge(*tables, key=itemgetter("case_id"))
    return (row for row in merged if "text" in row and row["case_id"] in cases)


def entail_rows(shards: Sequence[Shard], columns: list[str] | None = None) -> Iterator[Row]:
    """Yield the Entail examples that the contradiction algorithm took, with ``negated`` and ``twin``.

    ``columns`` are those of the parentheticals that are read, ``example_id`` among them, or all.
    """
    for shard in shards:
        files = shard.contradictions, shard.parentheticals
        for outcome, row in outcomes(*files, ["example_id", "negated", "twin"], columns):
            if outcome["twin"] is not None:
                yield row | outcome


def _converted(shards: Sequence[Shard], seed: int, filtered: bool) -> Iterator[Row]:
    """The rows with their labels and what the difficulty filters say of them once converted, if they stay."""
    labels = assign_labels(entail_rows(shards, ["example_id", "citing_jurisdiction"]), seed)
    for row in entail_rows(shards):
        converted = labelled(row, labels[row["example_id"]])
        fault = difficulty_fault(converted["hypothesis"], converted["short_premise"])
        if fault is None or not filtered:
            yield converted | {"fault": fault}


def _paired(
    converted: Sequence[Path], shards: Sequence[Shard], encode: Encode, folder: Path
) -> Iterator[Path]:
    """For each jurisdiction a table of `PAIRED`, its rows that find a neutral premise."""
    # Of other cases no neighbour is asked for.
    citing = {row["citing_case_id"] for row in _read(converted, ["citing_case_id"])}
    network = CitationNetwork(pairs_of(citing, (shard.cites for shard in shards)))
    tokens = _tokens(shards)

    def write(path: Path) -> Path:
        rows = sorted(dataset.read(path), key=itemgetter("example_id"))
        path.unlink()
        found = (
            row | {"analysis": in_analysis(tokens[row["cited_case_id"]])}
            for row in _with_premises(rows, network, encode)
        )
        dataset.write(PAIRED, found, folder / path.name)
        return folder / path.name

    # In a function, so that one jurisdiction has left memory before the next is read.
    return map(write, converted)


def _with_premises(rows: Sequence[Row], network: CitationNetwork, encode: Encode) -> Iterator[Row]:
    """The rows of one jurisdiction that find a neutral premise, in their order.

    Every hypothesis is asked about as it was before it was labelled, whatever its label.
    """
    asked = (contradicted(row) if row["label"] == CONTRADICT else row for row in rows)
    pairings = neutral_premises(asked, network, encode)
    wanted = chosen_premises(rows, pairings)
    premises = {row["example_id"]: row for row in rows if row["example_id"] in wanted}
    return neutralized(rows, pairings, premises, PREMISE_FIELDS)


def _tokens(shards: Sequence[Shard]) -> dict[int, int]:
    """The length of each long premise."""
    read = _read([shard.long_premises for shard in shards], ["case_id", "tokens"])
    return {row["case_id"]: row["tokens"] for row in read}


def _read(paths: Iterable[str | Path], columns: list[str]) -> Iterator[Row]:
    """The rows of one table after the other."""
    for path in paths:
        yield from dataset.read(path, columns)


def _rows(paths: Iterable[Path]) -> int:
    return sum(pq.read_metadata(path).num_rows for path in paths)


def _finished(kept: Iterable[Row]) -> Iterator[Row]:
    """The rows of `EXAMPLES`: each example and its twin, citations out of their short premises."""
    names = [column.name for column in EXAMPLES.columns]
    without = lru_cache(SHORT_PREMISES)(remove_citations)
    for row in twinned(kept):
        original = row["short_premise"]
        whole = row | {"short_premise": without(original), "short_premise_original": original}
        yield {name: whole[name] for name in names}
