"""The cases whose majority opinions are LawngNLI's long premises, and the rows that hold them."""

from collections.abc import Iterable
from pathlib import Path

from lextables.papers.lawngnli.case_index import CaseIndex
from lextables.papers.lawngnli.outcomes import outcomes


def cited_cases(contradictions: Iterable[str | Path], parentheticals: Iterable[str | Path]) -> set[int]:
    """Return the cited cases of all hypotheses that the contradiction algorithm accepted."""
    return {
        row["cited_case_id"]
        for paths in zip(contradictions, parentheticals, strict=True)
        for outcome, row in outcomes(*paths, ["example_id", "twin"], ["example_id", "cited_case_id"])
        if outcome["twin"] is not None
    }


def by_shard(cases: Iterable[int], index: CaseIndex) -> list[list[tuple[int, int]]]:
    """Return, for each shard of ``index``, the sorted (row, case) of those ``cases`` whose opinion it has."""
    places: list[list[tuple[int, int]]] = [[] for _ in index.shards]
    for case in cases:
        record = index.record(case)
        if record.row is not None:
            places[record.shard].append((record.row, case))
    return [sorted(rows) for rows in places]
