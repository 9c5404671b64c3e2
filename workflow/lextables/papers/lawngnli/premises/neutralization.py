"""LawngNLI, Appendix A.1.7: another premise for each Neutral hypothesis.

The released code lacks this step.  Where the paper is not specific, we chose:

- Candidates are the distinct (cited case, short premise) pairs of all examples of all labels, so that a
  page that is cited often takes one of the 30 places and not several.  Its id is the lowest example id.
- "Same state" is the jurisdiction of the cited case, the one the premise comes from.
- Neighbours in the citation network are excluded before the 30 are counted: the cases citing or cited by
  the hypothesis's case, and that case itself.
- BM25 is gensim 3.8.3's (`lextables.models.okapi`), its collection the candidates left for that hypothesis.
- The citation network has every citation that resolves to a case of the corpus, with a parenthetical or not,
  as the released code's ``exclude`` dictionary has.  That dictionary goes from citing to cited case only; the
  paper excludes "cases citing or cited by", so here each edge is kept in both directions.
- Ties, of inner product and of BM25, go to the lower example id.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from lextables.models.okapi import OkapiBM25
from lextables.papers.lawngnli.dataset.labels import NEUTRAL, Row
from lextables.papers.lawngnli.hypotheses.difficulty import (
    MAX_OVERLAP,
    bigrams,
    overlap,
    spaced,
)
from lextables.pipeline import dataset

TOP = 30
QUERY_BATCH = 1024
ENCODE_BATCH = 4096
# A margin for faiss's float32 rounding: inner products are taken again in float64 before they are ranked.
_SPARE = 8
_ROUNDING = 1e-4
# The columns of the table of parentheticals that describe a premise, and not who cites it or how.
PREMISE_FIELDS = (
    "cited_case_id",
    "cited_jurisdiction",
    "pages",
    "short_premise",
    "premise_start",
    "premise_end",
    "premise_spans",
)

Encode = Callable[[list[str]], np.ndarray]


def pairs_of(
    cases: Iterable[int], paths: Iterable[str | Path]
) -> Iterator[tuple[int, int]]:
    """Yield the (citing, cited) pairs of tables of `candidates.CITES` that one of ``cases`` is in.

    A network of these pairs has all neighbours of these cases.
    """
    case_ids = np.array(sorted(set(cases)), dtype=np.int64)
    for path in paths:
        table = dataset.read_table(path, ["citing_case_id", "cited_case_id"])
        citing, cited = (column.to_numpy() for column in table.columns)
        is_involved = np.isin(citing, case_ids) | np.isin(cited, case_ids)
        yield from zip(
            citing[is_involved].tolist(), cited[is_involved].tolist(), strict=True
        )


class CitationNetwork:
    """An undirected graph over case ids, as two sorted arrays of the edges (CSR).

    Memory: 16 bytes a case and 8 bytes a distinct pair (4 each way); while it is built, about
    100 a pair.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Read (citing case id, cited case id) pairs in any order, repeats allowed."""
        edges = np.fromiter(pairs, dtype=np.dtype((np.int64, 2)))
        edges = edges[edges[:, 0] != edges[:, 1]]
        edges = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
        self.case_ids, places = np.unique(edges, return_inverse=True)
        sources, self._targets = places.reshape(edges.shape).astype(np.int32).T
        self._starts = np.searchsorted(sources, np.arange(len(self.case_ids) + 1))

    def neighbours(self, case_id: int) -> np.ndarray:
        """Return the ids, ascending, of the cases that cite ``case_id`` or that it cites."""
        at = int(np.searchsorted(self.case_ids, case_id))
        if at == len(self.case_ids) or self.case_ids[at] != case_id:
            return np.empty(0, dtype=np.int64)
        return self.case_ids[self._targets[self._starts[at] : self._starts[at + 1]]]


@dataclass(frozen=True)
class Pairing:
    """The premise found for one hypothesis.

    ``premise_example_id`` is the example that the premise comes from, ``similarity`` the inner product
    of hypothesis and premise, ``bm25`` their score, ``candidates`` how many were left to choose from.
    """

    premise_example_id: Any
    similarity: float
    bm25: float
    candidates: int


@dataclass(frozen=True)
class _Query:
    example_id: Any
    citing_case_id: int
    cited_case_id: int
    hypothesis: str


def neutral_premises(
    rows: Iterable[Row], network: CitationNetwork, encode: Encode, *, top: int = TOP
) -> dict[Any, Pairing | None]:
    """Return the premise found for each ``example_id``, None where no candidate is left (Appendix A.1.7).

    Rows of every label are searched, because the paper drops examples of any label without a
    candidate.  They have ``example_id``, ``citing_case_id``, ``cited_case_id``,
    ``cited_jurisdiction``, ``hypothesis`` and ``short_premise``, in any order.  ``encode`` turns n
    texts into an array of shape (n, d) whose inner product is the similarity; it is called with at
    most 4,096 texts at once, in an order that the rows' order does not change.  Memory: the rows' short
    premises, a copy of them as words, and the float32 embeddings of one jurisdiction's candidates.
    """
    # {jurisdiction: its queries, and its premises (cited case, text) with their lowest example ids}
    places: dict[str, tuple[list[_Query], dict[tuple[int, str], Any]]] = defaultdict(
        lambda: ([], {})
    )
    for row in rows:
        queries, premises = places[row["cited_jurisdiction"]]
        queries.append(
            _Query(
                row["example_id"],
                row["citing_case_id"],
                row["cited_case_id"],
                row["hypothesis"],
            )
        )
        key = (row["cited_case_id"], row["short_premise"])
        premises[key] = min(premises.get(key, row["example_id"]), row["example_id"])
    pairings: dict[Any, Pairing | None] = {}
    for _, (queries, premises) in sorted(places.items(), key=itemgetter(0)):
        pairings.update(_pairings(queries, premises, network, encode, top))
    return dict(sorted(pairings.items()))


def neutralized(
    rows: Sequence[Row], pairings: Mapping[Any, Pairing | None]
) -> Iterator[dict[str, Any]]:
    """Yield the rows with a candidate: Neutral ones with the new premise, the others unchanged (A.1.7).

    ``premise_example_id`` is added: the example whose premise the row has now.
    """
    premises = {row["example_id"]: row for row in rows}
    for row in rows:
        pairing = pairings[row["example_id"]]
        if pairing is None:
            continue
        source = row["example_id"]
        premise: dict[str, Any] = {}
        if row["label"] == NEUTRAL:
            source = pairing.premise_example_id
            premise = {field: premises[source][field] for field in PREMISE_FIELDS}
        yield {**row, **premise, "premise_example_id": source}


def _pairings(
    queries: Iterable[_Query],
    examples: Mapping[tuple[int, str], Any],
    network: CitationNetwork,
    encode: Encode,
    top: int,
) -> Iterator[tuple[Any, Pairing | None]]:
    premises = sorted(examples, key=lambda key: (examples[key], key))
    texts = [text for _, text in premises]
    searchable = [spaced(text) for text in texts]
    bm25 = OkapiBM25(texts)
    nearest = _Nearest(
        _embed(encode, texts),
        np.array([case_id for case_id, _ in premises], dtype=np.int64),
    )
    for query, positions, similarities in nearest.search(queries, network, encode, top):
        hypothesis_bigrams = bigrams(query.hypothesis)
        allowed = [
            i
            for i, p in enumerate(positions)
            if overlap(hypothesis_bigrams, searchable[p]) < MAX_OVERLAP
        ]
        if not allowed:
            yield query.example_id, None
            continue
        # In the order of example ids, so that it settles the sums of floats and the first of the best.
        allowed.sort(key=lambda i: positions[i])
        scores = bm25.scores(query.hypothesis, [positions[i] for i in allowed])
        best = int(np.argmax(scores))
        source = examples[premises[positions[allowed[best]]]]
        yield (
            query.example_id,
            Pairing(
                source,
                float(similarities[allowed[best]]),
                float(scores[best]),
                len(allowed),
            ),
        )


def _embed(encode: Encode, texts: list[str]) -> np.ndarray:
    """Return the embeddings of ``texts``, float32, shape (n, d), computed in batches."""
    first = _checked(encode, texts[:ENCODE_BATCH])
    embeddings = np.empty((len(texts), first.shape[1]), dtype=np.float32)
    embeddings[: len(first)] = first
    for start in range(ENCODE_BATCH, len(texts), ENCODE_BATCH):
        embeddings[start : start + ENCODE_BATCH] = _checked(
            encode, texts[start : start + ENCODE_BATCH]
        )
    return embeddings


def _checked(encode: Encode, texts: list[str]) -> np.ndarray:
    """Return the embeddings of one batch; ValueError where the shape is wrong or a value is not finite."""
    vectors = np.ascontiguousarray(encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"the encoder gave shape {vectors.shape} for {len(texts)} texts"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("the encoder gave a value that is not finite")
    return vectors


class _Nearest:
    """Exact nearest candidates by inner product, with some cases left out for each query."""

    def __init__(self, embeddings: np.ndarray, case_ids: np.ndarray) -> None:
        self.embeddings, self.case_ids = embeddings, case_ids
        self.index = faiss.IndexFlatIP(embeddings.shape[1])
        self.index.add(embeddings)
        self.cases, self.counts = np.unique(case_ids, return_counts=True)

    def search(
        self,
        queries: Iterable[_Query],
        network: CitationNetwork,
        encode: Encode,
        top: int,
    ) -> Iterator[tuple[_Query, list[int], np.ndarray]]:
        """Yield each query with the positions of its nearest allowed candidates and their inner products.

        At most ``top`` each, best first.  A flat index cannot leave out other candidates for each query
        of a batch, so as many more are fetched as the query has to leave out; where a tie or rounding
        could still hide one, the query is asked again, twice as deep.
        """
        waiting: dict[int, list[tuple[_Query, np.ndarray | None]]] = {}
        for query in sorted(queries, key=lambda query: query.example_id):
            count = top + self._candidate_count(_left_out(query, network)) + _SPARE
            waiting.setdefault(self._depth(count), []).append((query, None))
        while waiting:
            depth = min(waiting)
            entries = waiting.pop(depth)
            for start in range(0, len(entries), QUERY_BATCH):
                batch = entries[start : start + QUERY_BATCH]
                # A query asked again brings its vector along: all of this depth do, or none.
                new = [query.hypothesis for query, vector in batch if vector is None]
                fresh = iter(_checked(encode, new)) if new else iter(())
                vectors = np.stack(
                    [next(fresh) if vector is None else vector for _, vector in batch]
                )
                products, positions = self.index.search(vectors, depth)
                for (query, _), vector, hits, lowest in zip(
                    batch, vectors, positions, products[:, -1], strict=True
                ):
                    ranked, exact = self._ranked(
                        vector, hits, _left_out(query, network), top
                    )
                    if depth == len(self.case_ids) or _settled(
                        exact, float(lowest), top
                    ):
                        yield query, ranked, exact
                    else:
                        waiting.setdefault(self._depth(2 * depth), []).append(
                            (query, vector.copy())
                        )

    def _candidate_count(self, cases: np.ndarray) -> int:
        """Return how many candidates come from ``cases``."""
        at = np.minimum(np.searchsorted(self.cases, cases), len(self.cases) - 1)
        return int(self.counts[at[self.cases[at] == cases]].sum())

    def _depth(self, count: int) -> int:
        """Round up to a power of two, so that queries of similar depth share a batch."""
        return min(1 << (count - 1).bit_length(), len(self.case_ids))

    def _ranked(
        self, query: np.ndarray, hits: np.ndarray, cases: np.ndarray, top: int
    ) -> tuple[list[int], np.ndarray]:
        allowed = np.sort(hits[~np.isin(self.case_ids[hits], cases)])
        # Row by row: equal embeddings then have equal products in every batch.
        products = np.einsum(
            "ij,j->i",
            self.embeddings[allowed].astype(np.float64),
            query.astype(np.float64),
        )
        order = np.argsort(-products, kind="stable")[:top]
        return allowed[order].tolist(), products[order]


def _left_out(query: _Query, network: CitationNetwork) -> np.ndarray:
    """Return the ids, each once, of the cases whose premises a hypothesis may not get."""
    own = [query.citing_case_id, query.cited_case_id]
    return np.unique(np.append(network.neighbours(query.citing_case_id), own))


def _settled(products: np.ndarray, lowest_fetched: float, top: int) -> bool:
    """Return whether nothing below the fetched candidates can belong to the ``top``, rounding allowed for."""
    if len(products) < top:
        return False
    worst = float(products[-1])
    return worst - lowest_fetched > _ROUNDING * max(1.0, abs(worst))
