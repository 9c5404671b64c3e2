"""Measure ACORD's own first stages on the training and validation queries, by cross-validation.

Scores are over each query's whole pool, or over lists of its first hits, as predictions keep them: so it
shows what fusing lists costs.  With a fold, a bi-encoder is fine-tuned on the queries outside it and reads
the first hits of its queries.  The test queries are left alone, but for ``--test``, which scores the hits of
finished runs on them.

    PYTHONPATH=workflow python bench/measure_fusion.py results/release/data/acord
    PYTHONPATH=workflow python bench/measure_fusion.py results/release/data/acord --fold 0 --updates 20 40
    PYTHONPATH=workflow python bench/measure_fusion.py results/release/data/acord --test <a run's predictions>
"""

import argparse
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import torch

from lextables.metrics.ranking import by_name
from lextables.models import bi_encoder
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE, place
from lextables.papers.packages import load
from lextables.tasks.retrieval import bi_encoder_tuning, collection, dense, lexical, training
from lextables.tasks.retrieval.collection import Collection, scored
from lextables.tasks.retrieval.lexical import fuse

ROOT = Path(__file__).parents[1]
TASK = load(ROOT / "resources/papers/acord.yaml").tasks["acord"]
MODEL = load_models(ROOT / "resources/models.yaml")["all-minilm-l6-v2"]
CPU = torch.device("cpu")
FOLDS = 3
Scores = Mapping[str, Mapping[str, float]]


def show(name: str, data: Collection, found: Scores, queries: Iterable[str]) -> None:
    """Print the mean NDCG of ``found`` over the queries."""
    queries = list(queries)
    qrels = {query: dict(data.judged[query]) for query in queries}
    run = {query: sorted(found[query], key=lambda d: (-found[query][d], d)) for query in queries}
    values = [fmean(by_name(metric)(qrels, run).values()) for metric in ("NDCG@5", "NDCG@10")]
    print(f"{name:<40} {values[0]:.4f} {values[1]:.4f}  ({len(queries)} queries)", flush=True)


def dictionaries(hits: Mapping[str, Sequence[tuple[str, float]]]) -> Scores:
    return {query: dict(found) for query, found in hits.items()}


def first_stages(data: Collection, top: int) -> tuple[Scores, Scores]:
    """What BM25 and the bi-encoder as it is give the ``top`` documents of every query, in the first form."""
    everything = replace(data, task={**data.task, "validation": "train", "test": "valid"})
    shared = {"pool": TASK.pool, "top": top, "queries": None}
    words = lexical.retrieve_bm25(everything, {"short": shared | {"index": "query", "k1": 0.9, "b": 0.4}})
    model = bi_encoder.load(place(PACKAGE + MODEL.package), CPU, MODEL.max_length)
    encode = partial(bi_encoder.encode_documents, model), partial(bi_encoder.encode_queries, model)
    vectors = dense.retrieve(everything, {"short": shared | {"form": "short", "documents": "whole"}}, *encode)
    return dictionaries(words["short"]), dictionaries(vectors["short"])


def cut(found: Scores, top: int) -> Scores:
    """The first ``top`` hits of every query."""
    return {
        query: dict(sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))[:top])
        for query, scores in found.items()
    }


def fold_of(data: Collection, fold: int) -> Collection:
    """The data with the queries of a fold as validation queries, and the rest to train on."""
    queries = sorted(data.of("training", "validation"))
    random.Random(0).shuffle(queries)
    held = set(queries[fold::FOLDS])
    splits = {query: TASK.validation if query in held else TASK.training for query in queries}
    return replace(data, queries={query: data.queries[query] | {"split": splits[query]} for query in queries})


def cross_validate(data: Collection, words: Scores, vectors: Scores, settings: dict, seed: int) -> None:
    """Print what a bi-encoder fine-tuned outside the fold makes of its queries, alone and fused with BM25."""
    texts = data.texts("short", ("validation",))
    firsts = cut(words, TASK.top), cut(vectors, TASK.top)
    pools = {query: sorted({d for found in firsts for d in found[query]}) for query in texts}
    for name, found in (("BM25", words), ("MiniLM", vectors)):
        show(name, data, found, texts)
    start = time.monotonic()

    def visit(updates: int) -> None:
        model.eval()
        tuned: dict[str, dict[str, float]] = {query: {} for query in texts}
        for (query, document), score in training.pair_scores(
            bi_encoder_tuning, model, data, texts, pools
        ).items():
            tuned[query][document] = score
        show(f"fine-tuned, {updates} updates", data, tuned, texts)
        lists = [{query: firsts[0][query] for query in texts}, cut(tuned, TASK.top)]
        for weights in ((1, 1), (1, 2)):
            fused = dictionaries(fuse(lists, weights, TASK.top))
            show(f"fused with BM25 {weights}, {updates} updates", data, fused, texts)
        print(f"{time.monotonic() - start:.0f} seconds", flush=True)
        model.train()

    model = bi_encoder_tuning.load(settings, CPU, seed)
    with TemporaryDirectory() as work:
        bi_encoder_tuning.finetune(model, data, settings, seed, Path(work), visit)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of ACORD's parquet tables")
    arguments.add_argument("--fold", type=int, choices=range(FOLDS))
    arguments.add_argument("--updates", type=int, nargs="+")
    arguments.add_argument("--learning-rate", type=float)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--test", type=Path, nargs="+", default=[])
    options = arguments.parse_args()
    task = TASK.model_dump(mode="json")
    data = collection.load([options.data / f"{name}.parquet" for name in collection.files(task)], task)
    for path in options.test:
        show(f"{path.parts[-4]}, {path.parts[-2]}", data, scored(path), data.of("test"))
    if options.test:
        return
    words, vectors = first_stages(data, len(data.documents))
    if options.fold is None:
        queries = data.of("training", "validation")
        pools = {query: data.judged[query] for query in queries}
        words = {query: {d: words[query].get(d, 0.0) for d in pool} for query, pool in pools.items()}
        vectors = {query: vectors[query] for query in queries}
        show("BM25", data, words, queries)
        show("MiniLM", data, vectors, queries)
        show("fused over pools", data, dictionaries(fuse([words, vectors], (1, 1), TASK.top)), queries)
        for top in (25, 50, 100, 200):
            fused = fuse([cut(words, top), cut(vectors, top)], (1, 1), TASK.top)
            show(f"fused over lists of {top}", data, dictionaries(fused), queries)
        return
    tuned = TASK.finetuned["minilm-retriever"]
    grid = tuned.grids["small"]
    settings = grid.training() | {
        "weights": PACKAGE + MODEL.package, "revision": None, "weight_decay": TASK.weight_decay,
        "temperature": tuned.temperature, "documents": tuned.documents,
        "learning_rate": options.learning_rate or grid.learning_rates[0],
        "updates": options.updates or list(grid.updates),
    }  # fmt: skip
    cross_validate(fold_of(data, options.fold), words, vectors, settings, options.seed)


if __name__ == "__main__":
    main()
