"""The pairs that a bi-encoder is trained on: batches of queries, each with documents of all its gains."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

Judged = Mapping[str, Mapping[str, float]]


def graded_batches(
    judged: Judged, *, updates: int, batch_size: int, documents: int, seed: int
) -> list[tuple[str, str]]:
    """Return ``updates`` batches of ``batch_size`` (query, document), one after the other.

    A query of a batch comes with ``documents`` documents, drawn from its gains in turn, the highest first:
    so what is rare is seen as often as what is not.  Queries, and the documents of a gain, each come once
    before any comes again, in an order that ``seed`` fixes.  Queries without any document of a gain are left
    out: they say nothing about order.
    """
    generator = np.random.default_rng(seed)
    graded = {query: of for query, of in sorted(judged.items()) if any(of.values())}
    order = _endless(list(graded), generator)
    streams = {query: _by_gain(of, generator) for query, of in graded.items()}
    return [
        (query, next(streams[query][place % len(streams[query])]))
        for _ in range(updates * batch_size // documents)
        for query in [next(order)]
        for place in range(documents)
    ]


def _by_gain(judged: Mapping[str, float], generator: np.random.Generator) -> list[Iterator[str]]:
    """The endless documents of each gain, the highest first."""
    return [
        _endless(sorted(document for document, found in judged.items() if found == gain), generator)
        for gain in sorted(set(judged.values()), reverse=True)
    ]


def _endless(names: Sequence[str], generator: np.random.Generator) -> Iterator[str]:
    while True:
        for at in generator.permutation(len(names)):
            yield names[at]
