"""Measure fusion with feedback on ACORD's training and validation queries (docs/baselines.md).

The encoder is off the shelf; or, with --folds, it is fine-tuned on two folds of three and ranks the third.  A
fold has whole groups of queries: those with one value of the column that --folds names.  Prints NDCG with the
change by feedback and its 95 % interval (bootstrap over queries).  The test queries are not read.

    PYTHONPATH=workflow .venv/bin/python bench/measure_feedback.py results/data/acord [--folds query_id]
"""

import argparse
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

from lextables.metrics.ranking import ndcg
from lextables.models import bi_encoder
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE
from lextables.papers.packages import load
from lextables.tasks.retrieval import bi_encoder_tuning, collection, dense, lexical
from lextables.tasks.retrieval.plan import BM25

ROOT = Path(__file__).parents[1]
MODEL = load_models(ROOT / "resources/models.yaml")["all-minilm-l6-v2"]
FOLDS = 3
PLAIN = (0, 0)


def encode(known: dict[str, np.ndarray], encoder: Any, texts: list[str]) -> np.ndarray:
    """Return the vectors of ``texts``, each encoded once."""
    new = sorted(set(texts) - known.keys())
    known |= zip(new, encoder(new) if new else (), strict=True)
    return np.stack([known[text] for text in texts])


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path, help="folder of ACORD's parquet tables")
    arguments.add_argument("--folds", help="fine-tune in folds by this column of the queries")
    options = arguments.parse_args()
    entry = load(ROOT / "resources/papers/acord.yaml").tasks["acord"]
    task, form = entry.model_dump(mode="json"), entry.forms[0]
    data = collection.load([options.data / f"{name}.parquet" for name in collection.files(task)], task)
    settings = {"weights": PACKAGE + MODEL.package, "revision": None, "max_length": MODEL.max_length}
    queries = data.of("training", "validation")
    folds = [set(queries)]
    if options.folds:
        tuned = task["finetuned"]["minilm-retriever"]
        grid = tuned["grids"]["small"]
        settings |= tuned | grid | {"weight_decay": entry.weight_decay}
        settings |= {"learning_rate": grid["learning_rates"][0]}
        groups = sorted({query[options.folds] for query in queries.values()})
        chosen = [set(groups[fold::FOLDS]) for fold in range(FOLDS)]
        folds = [{name for name, query in queries.items() if query[options.folds] in of} for of in chosen]
    run = {"form": form, "pool": entry.pool, "top": entry.top, "queries": None, "documents": "whole"}
    found: dict[Any, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for fold in folds:
        splits = {name: entry.test if name in fold else entry.training for name in queries}
        part = replace(data, queries={name: queries[name] | {"split": splits[name]} for name in queries})
        model = bi_encoder_tuning.load(settings, torch.device("cpu"), 0)
        if options.folds:
            with TemporaryDirectory() as work:
                bi_encoder_tuning.finetune(model, part, settings, 0, Path(work), lambda updates: None)
            model.eval()
        encoders = (bi_encoder.encode_documents, bi_encoder.encode_queries)
        both = [partial(encode, {}, partial(encoder, model)) for encoder in encoders]
        words = lexical.retrieve_bm25(part, {form: run | BM25 | {"index": "query"}})[form]
        vectors = dense.retrieve(part, {form: run}, *both)[form]
        systems = [{query: dict(hits) for query, hits in of.items()} for of in (words, vectors)]
        qrels = {name: dict(data.judged[name]) for name in fold}
        for shares in ((1, 1), (1, 2)):
            for feedback in (PLAIN, (3, 1), (3, 2), (5, 1), (5, 2), (10, 1), (10, 2)):
                lexical.FEEDBACK_SHARE = feedback[1]
                fed = run | {"shares": shares, "feedback": feedback[0]}
                hits = (
                    lexical.fuse(systems, shares, entry.top)
                    if feedback == PLAIN
                    else lexical.fuse_with_feedback(part, systems, fed, *both)
                )
                ranking = {query: [document for document, _ in of] for query, of in hits.items()}
                for cutoff, values in ndcg(qrels, ranking, (5, 10)).items():
                    found[shares, feedback][cutoff] += values.values()
    for (shares, feedback), by_cutoff in found.items():
        print(f"shares {shares}, (hits, share) of feedback {feedback}:", end="")
        for cutoff, values in by_cutoff.items():
            change = np.subtract(values, found[shares, PLAIN][cutoff])
            drawn = np.random.default_rng(0).choice(change, (10_000, len(change))).mean(axis=1)
            low, high = np.quantile(drawn, (0.025, 0.975))
            print(
                f"  NDCG@{cutoff} {np.mean(values):.3f} ({change.mean():+.3f}, {low:+.3f} to {high:+.3f})",
                end="",
            )
        print(flush=True)


if __name__ == "__main__":
    main()
