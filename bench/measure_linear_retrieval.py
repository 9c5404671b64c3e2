"""Cross-validate the linear first stage: what it ranks of queries that it has not learnt from.

The folds are of the training and validation queries alone, and cut no category of clauses, since queries of
one category ask much the same; this is how the registry's settings were chosen.  --by query_id cuts them.
--shuffled deals each query the judgements of another one's documents at random, after which nothing can be
learnt.  --test ranks the test queries instead, learnt from all others.

    PYTHONPATH=workflow python bench/measure_linear_retrieval.py results/data/acord --model all-minilm-l6-v2
"""

import argparse
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean

import torch

from lextables.metrics.ranking import by_name
from lextables.models import bi_encoder
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE, place
from lextables.papers import packages
from lextables.tasks.retrieval import collection, linear
from lextables.tasks.retrieval.collection import Collection

ROOT = Path(__file__).parents[1]


def folds(data: Collection, group: str, count: int, seed: int) -> Iterator[Collection]:
    """Yield the data with each fold of the queries that are no test queries as test queries.

    Queries of one ``group``, a column of theirs, are in one fold.
    """
    queries = data.of("training", "validation")
    names, groups = sorted(queries), sorted({str(query[group]) for query in queries.values()})
    random.Random(seed).shuffle(groups)
    for fold in range(count):
        held = {name for name in names if str(queries[name][group]) in groups[fold::count]}
        splits = {name: data.task["test" if name in held else "training"] for name in names}
        yield replace(data, queries={name: data.queries[name] | {"split": splits[name]} for name in names})


def shuffled(data: Collection, seed: int) -> Collection:
    """The data with each training query's gains dealt to its documents anew."""
    drawn = random.Random(seed)
    judged = dict(data.judged)
    for name in data.of("training"):
        gains = sorted(judged[name].values())
        drawn.shuffle(gains)
        judged[name] = dict(zip(sorted(judged[name]), gains, strict=True))
    return replace(data, judged=judged)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of a retrieval data set's parquet tables")
    arguments.add_argument("--model", help="a sentence encoder of the registry whose package is installed")
    arguments.add_argument("--topics", type=int, nargs="+", default=[100])
    arguments.add_argument("--penalty", type=float, nargs="+", default=[0.001])
    arguments.add_argument("--folds", type=int, default=6)
    arguments.add_argument("--by", default="category", help="column of the queries that a fold does not cut")
    arguments.add_argument("--seeds", type=int, nargs="+", default=[0])
    arguments.add_argument("--vectors", type=Path, default=Path("results/work/vectors"))
    arguments.add_argument("--shuffled", action="store_true")
    arguments.add_argument("--test", action="store_true")
    given = arguments.parse_args()
    papers = (packages.load(path) for path in sorted((ROOT / "resources/papers").glob("*.yaml")))
    entry = next(paper.tasks[given.data.name] for paper in papers if given.data.name in paper.tasks)
    task = entry.model_dump(mode="json")
    data = collection.load([given.data / f"{name}.parquet" for name in collection.files(task)], task)
    encoders = None
    if given.model:
        known = load_models(ROOT / "resources/models.yaml")[given.model]
        model = bi_encoder.load(place(PACKAGE + known.package), torch.device("cpu"), known.max_length)
        settings = {"model": given.model, "weights": known.package, "revision": known.revision}
        encode = (bi_encoder.encode_documents, bi_encoder.encode_queries)
        encoders = tuple(bi_encoder.cached(each, model, settings, given.vectors) for each in encode)
    for topics in given.topics:
        for penalty in given.penalty:
            form = {"pool": entry.pool, "top": entry.top, "k1": 0.9, "b": 0.4, "queries": None}
            settings = {entry.forms[0]: form | {"topics": topics, "penalty": penalty}}
            rank = partial(linear.retrieve, settings=settings, encoders=encoders)
            for seed in given.seeds:
                start, processor = time.monotonic(), time.process_time()
                found: dict[str, list[tuple[str, float]]] = {}
                for part in [data] if given.test else folds(data, given.by, given.folds, seed):
                    hits, _ = rank(shuffled(part, seed) if given.shuffled else part)
                    found |= hits[entry.forms[0]]
                took, used = time.monotonic() - start, time.process_time() - processor
                qrels = {name: dict(data.judged[name]) for name in found}
                run = {name: [document for document, _ in hits] for name, hits in found.items()}
                values = [fmean(by_name(name)(qrels, run).values()) for name in ("NDCG@5", "NDCG@10")]
                print(
                    f"{topics} topics, penalty {penalty}, seed {seed}: {values[0]:.4f} {values[1]:.4f} "
                    f"({len(found)} queries; {took:.0f} s, {used:.0f} s of processor)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
