"""From Entail examples to LawngNLI: the steps of Appendices A.1.3 to A.1.9 over files.

Each function is one rule: files in, one file out, the same whatever the number of shards.  The rules
themselves are in the modules that they call.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from lextables import dataset
from lextables.lawngnli.balance import balance, balanced, in_analysis
from lextables.lawngnli.case_index import CaseIndex
from lextables.lawngnli.citation_network import CitationNetwork
from lextables.lawngnli.citation_removal import remove_citations
from lextables.lawngnli.construction_schema import CONTRADICTIONS, EXAMPLES, LONG_PREMISES, UNFILTERED
from lextables.lawngnli.contradiction import Rejected, contradict
from lextables.lawngnli.difficulty import difficulty_fault
from lextables.lawngnli.labels import assign_labels, labelled
from lextables.lawngnli.neutralization import (
    PREMISE_FIELDS,
    Encode,
    chosen_premises,
    neutral_premises,
    neutralized,
)
from lextables.lawngnli.parsers import Parser
from lextables.lawngnli.premises import MajorityOpinions
from lextables.lawngnli.prepending import closing_paragraphs
from lextables.lawngnli.twins import twinned
from lextables.models.token_count import TokenCounter

BATCH = 1024
Row = Mapping[str, Any]

# The steps of the funnel after `entail_examples.FUNNEL`, in order.
DIFFICULTY = "no quotation, four words or more, less than half of the bigrams in the premise"
CONTRADICTED = "taken by the contradiction algorithm"
CONVERTED = "as difficult once converted"
NEUTRALIZED = "with a candidate for a neutral premise"
BALANCED = "balanced"
TWINNED = "with twins"
FUNNEL = (DIFFICULTY, CONTRADICTED, CONVERTED, NEUTRALIZED, BALANCED, TWINNED)


def write_contradictions(
    parentheticals: str | Path, parser: Parser, seed: int, path: str | Path
) -> Counter[str]:
    """Write what the contradiction algorithm makes of each hypothesis (A.1.3, A.1.5, A.1.6).

    Only hypotheses that pass the difficulty filters are parsed, which are cheap where parsing is not.
    The paper filters after the conversion: `write_examples` does so too, so that here a hypothesis to be
    converted must pass twice.  Returns the counts of the funnel's two steps and of each reason.
    """
    counts: Counter[str] = Counter({DIFFICULTY: 0, CONTRADICTED: 0})

    def rows() -> Iterator[Row]:
        read = dataset.read(parentheticals, ["example_id", "hypothesis", "short_premise"])
        while batch := list(islice(read, BATCH)):
            faults = [difficulty_fault(row["hypothesis"], row["short_premise"]) for row in batch]
            trees = parser.parse(
                row["hypothesis"] for row, fault in zip(batch, faults, strict=True) if fault is None
            )
            for row, fault in zip(batch, faults, strict=True):
                outcome = {"example_id": row["example_id"], "fault": fault, "rejection": None}
                outcome |= {"negated": None, "twin": None, "rule": None, "kind": None}
                if fault is None:
                    counts[DIFFICULTY] += 1
                    found = contradict(next(trees), example=row["example_id"], seed=seed)
                    if isinstance(found, Rejected):
                        outcome["rejection"] = found.reason
                        counts[f"rejected: {found.reason}"] += 1
                    else:
                        counts[CONTRADICTED] += 1
                        outcome |= {
                            "negated": found.negated,
                            "twin": found.text,
                            "rule": found.rule,
                            "kind": found.kind,
                        }
                else:
                    counts[f"difficulty: {fault}"] += 1
                yield outcome

    dataset.write(CONTRADICTIONS, rows(), path)
    counts.update({f"parser warned: {kind}": n for kind, n in parser.warnings.items()})
    return counts


def cited_cases(contradictions: Iterable[str | Path], parentheticals: Iterable[str | Path]) -> set[int]:
    """Return the cases whose opinions are the premises of hypotheses that the algorithm took."""
    cases: set[int] = set()
    for paths in zip(contradictions, parentheticals, strict=True):
        for outcome, row in _outcomes(*paths, ["example_id", "twin"], ["example_id", "cited_case_id"]):
            if outcome["twin"] is not None:
                cases.add(row["cited_case_id"])
    return cases


def _outcomes(
    contradictions: str | Path,
    parentheticals: str | Path,
    of_outcome: list[str] | None = None,
    of_row: list[str] | None = None,
) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield (outcome, parenthetical) row by row; ValueError if the files are not of one shard."""
    for outcome, row in zip(
        dataset.read(contradictions, of_outcome), dataset.read(parentheticals, of_row), strict=True
    ):
        if outcome["example_id"] != row["example_id"]:
            raise ValueError(f"{contradictions} and {parentheticals} are not of one shard")
        yield outcome, row


def write_long_premises(
    cases: Iterable[int], shard: int, index: CaseIndex, majorities: MajorityOpinions, path: str | Path
) -> int:
    """Write the majority opinions of ``cases`` that lie in ``shard``, with and without citations (A.1.9)."""
    counter = TokenCounter()
    records = sorted(
        (record.row, case)
        for case in sorted(set(cases))
        if (record := index.record(case)).shard == shard and record.row is not None
    )

    def rows() -> Iterator[Row]:
        found = []
        for at, case in records:
            opinion = majorities.at(shard, at)
            text = remove_citations(opinion.text)
            found.append(
                {
                    "case_id": case,
                    "opinion_id": opinion.opinion_id,
                    "original": opinion.text,
                    "text": text,
                    "tokens": counter.sequence_length(text),
                    "closing_paragraphs": closing_paragraphs(text, counter.tokens),
                }
            )
        yield from sorted(found, key=lambda row: row["case_id"])

    return dataset.write(LONG_PREMISES, rows(), path)


@dataclass(frozen=True)
class Shard:
    """The files of one shard, and what they hold."""

    parentheticals: str | Path
    contradictions: str | Path
    cites: str | Path
    long_premises: str | Path


def entail_rows(shards: Sequence[Shard]) -> list[dict[str, Any]]:
    """Return the Entail examples that the contradiction algorithm took, sorted by example id."""
    rows = []
    for shard in shards:
        for outcome, row in _outcomes(shard.contradictions, shard.parentheticals):
            if outcome["twin"] is not None:
                rows.append(row | {key: outcome[key] for key in ("negated", "twin")})
    return sorted(rows, key=lambda row: row["example_id"])


def write_unfiltered(shards: Sequence[Shard], path: str | Path) -> int:
    """Write every Entail candidate with the reason it left, or its twin: the paper's unfiltered-LawngNLI2."""

    def rows() -> Iterator[Row]:
        names = [column.name for column in UNFILTERED.columns]
        for shard in shards:
            for outcome, row in _outcomes(shard.contradictions, shard.parentheticals):
                whole = row | outcome
                yield {name: whole[name] for name in names}

    return dataset.write(UNFILTERED, rows(), path)


def write_examples(
    shards: Sequence[Shard], encode: Encode, seed: int, examples: str | Path, long_premises: str | Path
) -> dict[str, int]:
    """Write the finished data set and its long premises; return the funnel's last four steps.

    Order: labels in strata (A.1.4), the difficulty filters on the hypotheses as converted (A.1.6), neutral
    premises (A.1.7), citations out of the premises (A.1.9),
    the analysis subset, balance and split, twins (A.1.8).  Memory: the accepted examples with their
    short premises, and one embedding each.
    """
    rows = entail_rows(shards)
    network = CitationNetwork(
        (row["citing_case_id"], row["cited_case_id"]) for shard in shards for row in dataset.read(shard.cites)
    )
    labels = assign_labels(rows, seed)
    converted = [labelled(row, labels[row["example_id"]]) for row in rows]
    converted = [
        row for row in converted if difficulty_fault(row["hypothesis"], row["short_premise"]) is None
    ]
    difficult = {row["example_id"] for row in converted}
    rows = [row for row in rows if row["example_id"] in difficult]
    # Every hypothesis is asked about as it was before it was labelled, whatever its label.
    pairings = neutral_premises(rows, network, encode)
    wanted = chosen_premises(converted, pairings)
    premises = {row["example_id"]: row for row in rows if row["example_id"] in wanted}
    paired = list(neutralized(converted, pairings, premises, PREMISE_FIELDS))

    tokens = {
        row["case_id"]: row["tokens"]
        for shard in shards
        for row in dataset.read(shard.long_premises, ["case_id", "tokens"])
    }
    for row in paired:
        row["analysis"] = in_analysis(tokens[row["cited_case_id"]])
    splits = balance(paired, seed)
    kept = list(balanced(paired, splits))
    used = {row["cited_case_id"] for row in kept}
    without: dict[str, str] = {}

    def finished() -> Iterator[Row]:
        names = [column.name for column in EXAMPLES.columns]
        for row in twinned(kept):
            original = row["short_premise"]
            if original not in without:
                without[original] = remove_citations(original)
            whole = row | {"short_premise": without[original], "short_premise_original": original}
            yield {name: whole[name] for name in names}

    written = dataset.write(EXAMPLES, finished(), examples)
    # Merged by case, so that the order does not tell how the volumes were cut into shards.
    merged = heapq.merge(*(dataset.read(shard.long_premises) for shard in shards), key=itemgetter("case_id"))
    dataset.write(LONG_PREMISES, (row for row in merged if row["case_id"] in used), long_premises)
    return {CONVERTED: len(converted), NEUTRALIZED: len(paired), BALANCED: len(kept), TWINNED: written}
