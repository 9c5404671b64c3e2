"""LawngNLI, Appendix A.1.7: another premise for each Neutral hypothesis.

A Neutral hypothesis gets one of the 30 premises whose embeddings are most similar to
the hypothesis's embedding.  Of these 30, premises that share too many words with the
hypothesis are dropped, and the one with the highest BM25 score is taken.  The released
code lacks this step.  Where the paper is not specific, we chose:

- Candidates are the distinct (cited case, short premise) pairs of all examples of all
  labels, so that a page that is cited often takes one of the 30 places and not several.
  The id of a candidate is the lowest id of its examples.
- "Same state" is the jurisdiction of the cited case, whose opinion is the premise.
- Neighbours in the citation network are excluded before the 30 are counted: the cases
  citing or cited by the hypothesis's case, and that case itself.
- BM25 is gensim 3.8.3's (`lextables.models.okapi`); its collection is the candidates
  that are left for the hypothesis.
- The citation network has every citation that resolves to a case of the corpus, with a
  parenthetical or not, as the released code's ``exclude`` dictionary has.  That
  dictionary goes from citing to cited case only; the paper excludes "cases citing or
  cited by", so here each edge is kept in both directions.
- The nearest candidates are found with FAISS, as in the paper (footnote 22), by an
  exact index.  Where its single precision leaves the order open, the inner products are
  computed in double precision.
- A premise with `MAX_SUPPORT` or more of the hypothesis's content words is no
  candidate: of seven such Neutral pairs that were read, five were wrong
  (resources/readings/lawngnli_labels.csv).
- A premise that lacks a figure of the hypothesis is no candidate either.  The
  hypotheses of the other labels have all their figures in their premises, so a missing
  figure would reveal the label.  The 30 are counted before these two filters.
- Ties of inner products and of BM25 scores go to the lower example id.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import faiss
import numpy as np

from lextables.models.okapi import OkapiBM25
from lextables.papers.lawngnli.dataset.labels import NEUTRAL
from lextables.papers.lawngnli.dataset.support import content_lemmas, support
from lextables.papers.lawngnli.hypotheses.difficulty import (
    MAX_OVERLAP,
    bigrams,
    overlap,
    spaced,
)
from lextables.papers.lawngnli.premises.citation_removal import keeps_figures_of
from lextables.pipeline import dataset
from lextables.pipeline.dataset import Row

TOP = 30
MAX_SUPPORT = 0.7
QUERY_BATCH = 1024
ENCODE_BATCH = 4096
# Hits of the first search for each query.  If too many of them are excluded or tied,
# the search is repeated for more hits.
FIRST_HITS = 128
# Premises whose lemmas are in memory, about 100 MB.
LEMMAS = 4096
# A margin for the rounding of float32.
_ROUNDING = 1e-4
# The columns of the table of parentheticals that describe a premise, and not who cites
# it or how.
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
    """Yield the (citing, cited) pairs of tables of `candidates.CITES` that one of
    ``cases`` is in.

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

    Memory: 16 bytes a case and 8 bytes a distinct pair (4 each way); while it is built,
    about 100 a pair.
    """

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Read (citing case id, cited case id) pairs in any order, repeats allowed."""
        read = np.fromiter(pairs, dtype=np.dtype((np.int64, 2)))
        citing, cited = read.T
        is_other = citing != cited
        to_others = read[is_other]
        both_ways = np.concatenate([to_others, np.fliplr(to_others)])
        edges = np.unique(both_ways, axis=0)
        # Cases by their positions in ``case_ids``; edges are sorted by their first
        # case.
        self.case_ids, positions = np.unique(edges, return_inverse=True)
        positions = positions.reshape(edges.shape).astype(np.int32)
        sources, self._targets = positions.T
        numbers = np.arange(len(self.case_ids) + 1)
        self._starts = np.searchsorted(sources, numbers)

    def neighbours(self, case_id: int) -> np.ndarray:
        """Return the ids, ascending, of the cases that cite ``case_id`` or that it
        cites.
        """
        position = int(np.searchsorted(self.case_ids, case_id))
        if position == len(self.case_ids) or self.case_ids[position] != case_id:
            return np.empty(0, dtype=np.int64)
        start = self._starts[position]
        end = self._starts[position + 1]
        return self.case_ids[self._targets[start:end]]


@dataclass(frozen=True)
class Pairing:
    """The premise found for one hypothesis.

    ``premise_example_id`` is the example that the premise comes from, ``similarity``
    the inner product of hypothesis and premise, ``bm25`` their score, ``candidates``
    how many were left to choose from.
    """

    premise_example_id: Any
    similarity: float
    bm25: float
    candidates: int


@dataclass(frozen=True)
class _Query:
    """A hypothesis that needs a premise, and the cases that it is from and about."""

    example_id: Any
    citing_case_id: int
    cited_case_id: int
    hypothesis: str


def neutral_premises(
    rows: Iterable[Row], network: CitationNetwork, encode: Encode, *, top: int = TOP
) -> dict[Any, Pairing | None]:
    """Return the premise found for each ``example_id``, None where no candidate is left
    (Appendix A.1.7).  The search is within a jurisdiction.

    A premise is searched for rows of every label, because the paper drops examples of
    any label without a candidate.  Rows have ``example_id``, ``citing_case_id``,
    ``cited_case_id``, ``cited_jurisdiction``, ``hypothesis`` and ``short_premise``, in
    any order.  ``encode`` turns n texts into an array of shape (n, d) whose inner
    product is the similarity; it is called with at most 4,096 texts at once, in an
    order that the rows' order does not change.  Memory: the rows' short premises, a
    copy of them as words, and the float32 embeddings of one jurisdiction's candidates.
    """
    queries: dict[str, list[_Query]] = defaultdict(list)
    premises: dict[str, dict[tuple[int, str], Any]] = defaultdict(dict)
    for row in rows:
        example_id = row["example_id"]
        place = row["cited_jurisdiction"]
        cases = row["citing_case_id"], row["cited_case_id"]
        queries[place].append(_Query(example_id, *cases, row["hypothesis"]))
        key = row["cited_case_id"], row["short_premise"]
        lowest = premises[place].get(key, example_id)
        premises[place][key] = min(lowest, example_id)
    pairings: dict[Any, Pairing | None] = {}
    for place in sorted(queries):
        place_pairings = _pairings(
            queries[place], premises[place], network, encode, top
        )
        pairings.update(place_pairings)
    return dict(sorted(pairings.items()))


def neutralized(
    rows: Sequence[Row], pairings: Mapping[Any, Pairing | None]
) -> Iterator[Row]:
    """Yield the rows with a candidate: Neutral ones with the new premise, the others
    unchanged (A.1.7).

    Rows get the column ``premise_example_id``: the example whose premise they have now.
    """
    premises = {row["example_id"]: row for row in rows}
    for row in rows:
        pairing = pairings[row["example_id"]]
        if pairing is None:
            continue
        source = row["example_id"]
        premise: Row = {}
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
    """Yield the (example id, pairing) of the hypotheses of one jurisdiction.

    ``examples`` are {(cited case, premise): its lowest example id}.
    """
    # The candidates; below, a candidate is named by its position in this list.
    premises = sorted(examples, key=lambda key: (examples[key], key))
    texts = [text for _, text in premises]
    spaced_texts = [spaced(text) for text in texts]
    positions_of = defaultdict(list)  # {cited case: positions of its premises}
    for position, (case_id, _) in enumerate(premises):
        positions_of[case_id].append(position)
    bm25 = OkapiBM25(texts)
    lemmas = lru_cache(LEMMAS)(lambda position: content_lemmas(texts[position]))
    index = _index(encode, texts)
    by_id = sorted(queries, key=lambda query: query.example_id)
    for start in range(0, len(by_id), QUERY_BATCH):
        batch = by_id[start : start + QUERY_BATCH]
        vectors = _checked(encode, [query.hypothesis for query in batch])
        hits = index.search(vectors, min(FIRST_HITS, index.ntotal))
        for query, vector, *first_hits in zip(batch, vectors, *hits, strict=True):
            excluded: list[int] = []
            for case_id in _excluded_cases(query, network):
                excluded += positions_of.get(case_id, [])
            similarities = _nearest(index, vector, first_hits, excluded, top)
            hypothesis = query.hypothesis
            hypothesis_bigrams = bigrams(hypothesis)
            # In the order of example ids, which decides between equal scores.
            allowed = []
            for position in sorted(similarities):
                if overlap(hypothesis_bigrams, spaced_texts[position]) >= MAX_OVERLAP:
                    continue
                if support(hypothesis, lemmas(position)) >= MAX_SUPPORT:
                    continue
                if keeps_figures_of(texts[position], hypothesis):
                    allowed.append(position)
            if not allowed:
                yield query.example_id, None
                continue
            scores = bm25.scores(hypothesis, allowed)
            best = int(np.argmax(scores))
            position = allowed[best]
            source = examples[premises[position]]
            similarity = similarities[position]
            score = float(scores[best])
            yield query.example_id, Pairing(source, similarity, score, len(allowed))


def _nearest(
    index: faiss.IndexFlatIP,
    query: np.ndarray,
    hits: Sequence[np.ndarray],
    excluded: Sequence[int],
    top: int,
) -> dict[int, float]:
    """Return {position: inner product} of the ``top`` candidates nearest to a query.

    ``hits`` are the products and the positions of the query's first hits, best first.
    ``excluded`` positions are no candidates.  Candidates that rounding could place
    among the nearest are computed again in float64.  Ties go to the lower position.
    """
    products, positions = hits
    while True:
        is_candidate = ~np.isin(positions, excluded)
        candidates = positions[is_candidate]
        least = -np.inf
        if len(candidates) > top:
            last = float(products[is_candidate][top - 1])
            least = last - _ROUNDING * max(1.0, abs(last))
        if products[-1] < least or len(positions) == index.ntotal:
            break
        more = min(4 * len(positions), index.ntotal)
        (products,), (positions,) = index.search(query[None], more)
    candidates = np.sort(candidates[products[is_candidate] >= least])
    # Row by row: equal embeddings then have equal products in every batch.
    vectors = index.reconstruct_batch(candidates).astype(np.float64)
    exact = np.einsum("ij,j->i", vectors, query.astype(np.float64))
    order = np.argsort(-exact, kind="stable")[:top]
    nearest = candidates[order]
    similarities = exact[order]
    return dict(zip(nearest.tolist(), similarities.tolist(), strict=True))


def _excluded_cases(query: _Query, network: CitationNetwork) -> set[int]:
    """Return the cases whose premises a hypothesis may not get."""
    neighbours = network.neighbours(query.citing_case_id).tolist()
    return {query.citing_case_id, query.cited_case_id, *neighbours}


def _index(encode: Encode, texts: list[str]) -> faiss.IndexFlatIP:
    """Return an index of the embeddings of ``texts``, which are computed in batches."""
    embeddings = _checked(encode, texts[:ENCODE_BATCH])
    index = faiss.IndexFlatIP(embeddings.shape[1])
    index.add(embeddings)
    for start in range(ENCODE_BATCH, len(texts), ENCODE_BATCH):
        index.add(_checked(encode, texts[start : start + ENCODE_BATCH]))
    return index


def _checked(encode: Encode, texts: list[str]) -> np.ndarray:
    """Return the embeddings of one batch; ValueError where the shape is wrong or a
    value is not finite.
    """
    vectors = np.ascontiguousarray(encode(texts), dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise ValueError(
            f"the encoder gave shape {vectors.shape} for {len(texts)} texts"
        )
    if not np.isfinite(vectors).all():
        raise ValueError("the encoder gave a value that is not finite")
    return vectors
