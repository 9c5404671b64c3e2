"""Precision and recall by characters: passages against marked spans, by LegalBench-RAG's released definition.

The gain of a passage for a query is how many of its characters lie in a span that answers the query.
Passages part their texts, so that none is counted twice, and what all of them hold is all that answers the
query.  Both scores are 0 where there is nothing to divide by.
"""

from collections.abc import Mapping, Sequence


def character_precision(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Sequence[str]], lengths: Mapping[str, int],
    cutoff: int,
) -> dict[str, float]:  # fmt: skip
    """Return {query id: share of the characters of the top ``cutoff`` passages that answer the query}.

    ``lengths`` are the passages' characters.  The share is of what came back, which may be fewer passages.
    """
    values = {}
    for query in sorted(qrels):
        top = run.get(query, ())[:cutoff]
        returned = sum(lengths[passage] for passage in top)
        values[query] = _held(qrels[query], top) / returned if returned else 0.0
    return values


def character_recall(
    qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Sequence[str]], cutoff: int
) -> dict[str, float]:
    """Return {query id: share of the characters that answer it that the top ``cutoff`` passages hold}."""
    values = {}
    for query in sorted(qrels):
        marked = sum(qrels[query].values())
        values[query] = _held(qrels[query], run.get(query, ())[:cutoff]) / marked if marked else 0.0
    return values


def _held(gains: Mapping[str, int], top: Sequence[str]) -> int:
    return sum(gains.get(passage, 0) for passage in top)
