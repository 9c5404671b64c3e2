"""Measure what retrieval over pools of a thousand opinions takes beside encoding (LawngNLI, Section 4.2).

The queries that are ranked are the first of the test split.  Encoding is timed apart from the rest, which is
to cut documents to their nearest paragraphs, to look up what is encoded already, and to rank.  BM25 encodes
nothing: all of its time is the rest.

    PYTHONPATH=workflow python bench/measure_pools.py results/release/data/lawngnli_retrieval --queries 8
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from lextables.models import bi_encoder
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE, place
from lextables.papers.packages import load
from lextables.tasks.retrieval import collection, dense, lexical
from lextables.tasks.retrieval.collection import Collection

ROOT = Path(__file__).parents[1]
TASK = load(ROOT / "resources/papers/lawngnli.yaml").tasks["lawngnli_retrieval"]
MODEL = load_models(ROOT / "resources/models.yaml")["all-minilm-l6-v2"]
Encode = Callable[[Sequence[str]], np.ndarray]


class Timed:
    """An encoder that knows how long it took, in seconds of clock, and how many texts it had."""

    def __init__(self, encode: Encode) -> None:
        self.encode, self.seconds, self.texts = encode, 0.0, 0

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        start = time.perf_counter()
        found = self.encode(texts)
        self.seconds += time.perf_counter() - start
        self.texts += len(texts)
        return found


def first_queries(data: Collection, count: int) -> Collection:
    """The collection with ``count`` of its test queries."""
    chosen = dict(list(data.of("test").items())[:count])
    return replace(data, queries=chosen)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of the data set's parquet tables")
    arguments.add_argument("--queries", type=int, default=8)
    arguments.add_argument("--drawn", action="store_true", help="draw vectors instead of encoding")
    options = arguments.parse_args()
    task = TASK.model_dump(mode="json")
    start = time.perf_counter()
    data = collection.load([options.data / f"{name}.parquet" for name in collection.files(task)], task)
    print(f"{len(data.documents)} documents read in {time.perf_counter() - start:.1f} s", flush=True)
    data = first_queries(data, options.queries)
    pairs = sum(len(data.judged[query]) for query in data.queries)
    shared = {"form": "text", "pool": "judged", "top": TASK.top, "queries": None}
    if options.drawn:
        ways = {name: Timed(drawn) for name in ("documents", "queries")}
    else:
        model = bi_encoder.load(place(PACKAGE + MODEL.package), torch.device("cpu"), MODEL.max_length)
        encode = partial(bi_encoder.encode, model)
        ways = {name: Timed(encode) for name in ("documents", "queries")}
    for read in ("filtered", "whole"):
        for way in ways.values():
            way.seconds, way.texts = 0.0, 0
        start = time.perf_counter()
        dense.retrieve(data, {"text": shared | {"documents": read}}, *ways.values())
        total = time.perf_counter() - start
        encoding = sum(way.seconds for way in ways.values())
        rest = total - encoding
        print(
            f"{read}: {len(data.queries)} queries, {pairs} pairs, {ways['documents'].texts} texts encoded in "
            f"{encoding:.1f} s; the rest took {rest:.2f} s, {1000 * rest / pairs:.3f} ms a pair",
            flush=True,
        )
    for read in ("filtered", "whole"):
        start = time.perf_counter()
        lexical.retrieve_okapi(data, {"text": shared | {"documents": read}})
        total = time.perf_counter() - start
        print(f"BM25, {read}: {total:.2f} s, {1000 * total / pairs:.3f} ms a pair", flush=True)


def drawn(texts: Sequence[str]) -> np.ndarray:
    """A unit vector for each text, drawn anew."""
    vectors = np.random.default_rng(0).standard_normal((len(texts), 384)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


if __name__ == "__main__":
    main()
