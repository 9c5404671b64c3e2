"""Which cases' majority opinions LawngNLI needs as long premises, and where they lie."""

from collections.abc import Iterable
from pathlib import Path

from lextables.papers.lawngnli.case_index import CaseIndex
from lextables.papers.lawngnli.outcomes import outcomes


def cited_cases(contradictions: Iterable[str | Path], parentheticals: Iterable[str | Path]) -> set[int]:
    """Return the cases whose opinions are the premises of hypotheses that the algorithm took."""
    return {
        row["cited_case_id"]
        for paths in zip(contradictions, parentheticals, strict=True)
        for outcome, row in outcomes(*paths, ["example_id", "twin"], ["example_id", "cited_case_id"])
        if outcome["twin"] is not None
    }


def by_shard(cases: Iterable[int], index: CaseIndex) -> list[list[tuple[int, int]]]:
    """Return for each shard of ``index`` the (row, case) of the ``cases`` whose opinions it holds, sorted."""
    places: list[list[tuple[int, int]]] = [[] for _ in index.shards]
    for case in cases:
        record = index.record(case)
        if record.row is not None:
            places[record.shard].append((record.row, case))
    return [sorted(found) for found in places]
