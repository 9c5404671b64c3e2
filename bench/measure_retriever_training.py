"""Measure ACORD's fine-tuned first stage on folds of its training and validation queries (docs/baselines.md).

A fold has whole kinds of clauses.  Prints NDCG@5 and NDCG@10 of the encoder off the shelf, after training on
CUAD's training clauses, and after training on ACORD's other folds (seed 0), alone and fused, with changes and
95 % intervals.  Clauses are read in bfloat16, and pools are the clauses rated 2 stars
or more and the first 60 of BM25 and MiniLM.  --labels counts the relevant clauses of each query named after a
CUAD category that CUAD labels so.

    PYTHONPATH=workflow .venv/bin/python bench/measure_retriever_training.py <mirror> <folder for vectors>
"""

import argparse
import csv
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Collection as Names
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from torch.nn.functional import normalize

from lextables.models import bi_encoder, bi_encoder_training
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE, weights_folder
from lextables.papers.acord.raw import read_release
from lextables.papers.packages import load
from lextables.tasks.retrieval import bi_encoder_tuning, lexical, linear
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.plan import BM25

ROOT = Path(__file__).parents[1]
PAPER = load(ROOT / "resources/papers/acord.yaml")
TASK = PAPER.tasks["acord"].model_dump(mode="json")
MODEL = load_models(ROOT / "resources/models.yaml")["all-minilm-l6-v2"]
SETTINGS = {
    "weights": PACKAGE + MODEL.package, "revision": None, "max_length": 96, "learning_rate": 1e-4,
    "temperature": 0.05, "updates": [24], "batch_size": 64, "weight_decay": 0.01, "bf16": True,
    "save_every": 10**6, "documents": 8,
}  # fmt: skip
NAMES = "learning_rate temperature updates batch_size weight_decay bf16 save_every".split()
RUN = {"form": "short", "pool": "judged", "top": 100, "queries": None} | BM25
KINDS = (  # of clauses, by fold
    ("cap", "Term", "Governing Law"),
    ("waiver of damages", "Restrictive Covenants"),
    ("warranty", "Indemnification", "Affirmative Covenants", "IP ownership/license"),
)
NOT_CLAUSES = {"Document Name", "Parties", "Agreement Date", "Effective Date"}
MIN_WORDS = 12  # of an answer in CUAD
DEPTH = 60
TOKENS = 4096
Scores = Mapping[str, Mapping[str, float]]
Vectors = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]  # of clauses by id, of queries by text


def kind(query: Mapping[str, Any]) -> str:
    """Return the kind of clause that a query asks for."""
    text = query["short"].lower()
    if query["category"] != "Limitation of Liability":
        return query["category"]
    if "indirect" in text or "disclaimer of" in text or "damages" in text:
        return "waiver of damages"
    return "cap" if "cap" in text else "warranty"


def acord(mirror: Path) -> Collection:
    """Return the released data set."""
    release = read_release(mirror / "acord/ACORD.zip", PAPER.categories, PAPER.query_aliases)
    judged: dict[str, dict[str, int]] = defaultdict(dict)
    for row in release.judgements:
        judged[row["query_id"]][row["clause_id"]] = row["score"]
    texts = {row["clause_id"]: row["text"] for row in release.clauses}
    return Collection(texts, {row["query_id"]: row for row in release.queries}, judged, TASK)


def cuad(mirror: Path) -> dict[str, tuple[str, set[str]]]:
    """Return {category: (its description, its answers in training contracts)} of CUAD."""
    with (mirror / "cuad/category_descriptions.csv").open(encoding="utf-8-sig") as file:
        cells = [list(row.values()) for row in csv.DictReader(file)]
    about = {row[0].split(": ", 1)[1].strip().lower(): row[1].split(": ", 1)[1].strip() for row in cells}
    with zipfile.ZipFile(mirror / "cuad/data.zip") as archive:
        contracts = json.loads(archive.read("train_separate_questions.json"))["data"]
    answers = defaultdict(set)
    for paragraph in (paragraph for contract in contracts for paragraph in contract["paragraphs"]):
        for question in paragraph["qas"]:
            category = re.search(r'related to "(.+?)"', question["question"])[1]
            texts = (" ".join(answer["text"].split()) for answer in question["answers"])
            answers[category].update(text for text in texts if len(text.split()) >= MIN_WORDS)
    return {name: (about[name.lower()], found) for name, found in answers.items() if name not in NOT_CLAUSES}


def show_labels(data: Collection, categories: Mapping[str, tuple[str, set[str]]]) -> None:
    """Print the relevant clauses of each query of CUAD's categories, and those that CUAD labels."""

    def words(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.lower()))

    labelled = {name: {words(text) for text in texts} for name, (_, texts) in categories.items()}
    for name, query in sorted(data.queries.items(), key=lambda item: (item[1]["split"], item[0])):
        if query["origin"] != "cuad1":
            continue
        relevant = [words(data.documents[clause]) for clause, gain in data.judged[name].items() if gain >= 2]
        counts = {
            category: sum(any(text in clause or clause in text for text in texts) for clause in relevant)
            for category, texts in labelled.items()
        }
        most = dict(sorted(counts.items(), key=lambda item: -item[1])[:3])
        print(query["split"], name, len(relevant), most)


def fit(
    model: SentenceTransformer,
    texts: Mapping[str, str],
    judged: Scores,
    documents: Mapping[str, str],
    seed: int,
) -> None:
    """Fine-tune as the row does on the judged documents of ``texts``, the queries."""
    shape = {name: SETTINGS[name] for name in ("batch_size", "documents")}
    pairs = bi_encoder_tuning.graded_batches(judged, updates=max(SETTINGS["updates"]), **shape, seed=seed)
    of_query = {name: number for number, name in enumerate(texts)}
    used = {name: number for number, name in enumerate(sorted({d for q in judged for d in judged[q]}))}
    gains = {(of_query[q], used[d]): gain for q, of in judged.items() for d, gain in of.items()}
    with TemporaryDirectory() as work:
        bi_encoder_training.finetune(
            model, [(of_query[q], used[d]) for q, d in pairs], list(texts.values()),
            [documents[name] for name in used], gains, **{name: SETTINGS[name] for name in NAMES}, seed=seed,
            work=Path(work), visit=lambda updates: None,
        )  # fmt: skip


def fit_cuad(model: SentenceTransformer, categories: Mapping[str, tuple[str, set[str]]]) -> None:
    """Fine-tune on CUAD's categories, whose names and descriptions are the queries."""
    texts, judged = {}, {}
    for name, (about, answers) in categories.items():
        for key, text in ((f"{name}name", name), (f"{name}description", about)):
            texts[key], judged[key] = text, dict.fromkeys(answers, 1)
    documents = {text: text for _, answers in categories.values() for text in answers}
    fit(model, texts, judged, documents, 0)


def fit_acord(model: SentenceTransformer, data: Collection, queries: Names[str]) -> None:
    """Fine-tune on these queries."""
    texts = {f"{name}|short": data.queries[name]["short"] for name in sorted(queries)}
    judged = {f"{name}|short": data.judged[name] for name in sorted(queries)}
    fit(model, texts, judged, data.documents, 0)


@torch.no_grad()
def encode(model: SentenceTransformer, texts: list[str]) -> np.ndarray:
    """Return unit vectors of the texts, read in bfloat16 in batches of similar length."""
    ids = model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]
    order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
    vectors, start = np.empty((len(ids), model.get_embedding_dimension()), np.float32), 0
    while start < len(order):
        end = start + 1
        while end < len(order) and (end + 1 - start) * len(ids[order[end]]) <= TOKENS:
            end += 1
        padded = model.tokenizer.pad({"input_ids": [ids[at] for at in order[start:end]]}, return_tensors="pt")
        features = {name: padded[name] for name in ("input_ids", "attention_mask")}
        with torch.autocast("cpu", torch.bfloat16):
            batch = model(features)["sentence_embedding"]
        vectors[order[start:end]] = normalize(batch.float(), dim=-1).numpy()
        start = end
    return vectors


def vectors(path: Path, data: Collection, names: Names[str], train: Any = None, length: int = 96) -> Vectors:
    """Return the vectors of the pools of ``names``, kept at ``path``; ``train`` changes the model first."""
    if not path.exists():
        torch.manual_seed(0)
        model = bi_encoder.load(weights_folder(SETTINGS), torch.device("cpu"), SETTINGS["max_length"])
        if train:
            train(model)
        model.eval()
        model.max_seq_length = length
        clauses = sorted({clause for name in names for clause in data.judged[name]})
        texts = sorted({data.queries[name]["short"] for name in names})
        read = encode(model, [data.documents[clause] for clause in clauses])
        of_queries = bi_encoder.encode_queries(model, texts)
        np.savez(path, d=read, q=of_queries, dn=np.array(clauses), qn=np.array(texts))
    kept = np.load(path)
    return dict(zip(kept["dn"].tolist(), kept["d"], strict=True)), dict(
        zip(kept["qn"].tolist(), kept["q"], strict=True)
    )


def first(scores: Scores, count: int, only: Names[str]) -> dict[str, dict[str, float]]:
    """Return the first documents of each query, of those in ``only``."""
    return {
        name: dict(
            sorted(((d, v) for d, v in of.items() if d in only), key=lambda hit: (-hit[1], hit[0]))[:count]
        )
        for name, of in scores.items()
    }


def similarities(data: Collection, names: Names[str], found: Vectors) -> Scores:
    """Return the cosines of each query and its pool."""
    clauses, queries = found
    return {
        name: {
            c: float(clauses[c] @ queries[data.queries[name]["short"]])
            for c in data.judged[name]
            if c in clauses
        }
        for name in sorted(names)
    }


def as_test(data: Collection, held: Names[str], training: Names[str] = ()) -> Collection:
    """Return the data with ``held`` as test queries and ``training`` to train on."""
    splits = dict.fromkeys(training, "train") | dict.fromkeys(held, "test")
    return replace(
        data, queries={name: data.queries[name] | {"split": split} for name, split in splits.items()}
    )


def scores_of(data: Collection, hits: lexical.Hits | Scores) -> dict[str, list[float]]:
    """Return {query: [NDCG@5, NDCG@10]}."""
    return {
        name: [_ndcg(data.judged[name], [*dict(of)], cutoff) for cutoff in (5, 10)]
        for name, of in hits.items()
    }


def _ndcg(judged: Mapping[str, float], ranking: list[str], cutoff: int) -> float:
    def dcg(gains: list[float]) -> float:
        return sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains[:cutoff]))

    return dcg([judged.get(name, 0) for name in ranking]) / dcg(sorted(judged.values(), reverse=True))


def systems(
    data: Collection, held: Names[str], found: Vectors, words: Scores, learnt: Scores, pool: Names[str]
) -> Any:
    """Return {system: {query: [NDCG@5, NDCG@10]}} of the encoder with these vectors, alone and fused."""
    clauses, queries = found
    of_text = {data.documents[name]: vector for name, vector in clauses.items()}
    encoders = [
        lambda texts: np.stack([of_text[t] for t in texts]),
        lambda texts: np.stack([queries[t] for t in texts]),
    ]
    dense = first(similarities(data, held, found), RUN["top"], pool)
    words, learnt = ({name: of[name] for name in sorted(held)} for of in (words, learnt))
    scores = {"alone": scores_of(data, dense)}
    for name, parts, shares in (
        ("BM25", [words, dense], (1, 2)),
        ("BM25, linear, double weight", [words, learnt, dense], (1, 1, 2)),
        ("BM25, linear", [words, learnt, dense], (1, 1, 1)),
        ("BM25, linear and encoder double", [words, learnt, dense], (1, 2, 2)),
    ):
        run = RUN | {"shares": shares, "feedback": 5}
        scores[f"+ {name}"] = scores_of(data, lexical.fuse(parts, shares, RUN["top"]))
        scores[f"+ {name}, with feedback"] = scores_of(
            data, lexical.fuse_with_feedback(data, parts, run, *encoders)
        )
    return scores


def show(name: str, scores: Any, reference: Any, origins: Mapping[str, str]) -> None:
    """Print the means and the changes by each system, over all queries and by origin."""
    for system, of in scores.items():
        line, names = f"{name:<28}{system:<48}{len(of):>3} queries", sorted(of)
        for column, cutoff in enumerate((5, 10)):
            values = np.array([of[query][column] for query in names])
            change = values - [reference[query][column] for query in names]
            drawn = np.random.default_rng(0).choice(change, (10_000, len(change))).mean(axis=1)
            low, high = np.quantile(drawn, (0.025, 0.975))
            line += f"  NDCG@{cutoff} {values.mean():.3f} ({change.mean():+.3f}, {low:+.3f} to {high:+.3f})"
            for origin in sorted({*origins.values()}):
                line += f" {origin} {change[[origins[query] == origin for query in names]].mean():+.3f}"
        print(line, flush=True)


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("mirror", type=Path, help="folder of the released data sets")
    arguments.add_argument("kept", type=Path, nargs="?", help="folder for vectors")
    arguments.add_argument("--labels", action="store_true")
    options = arguments.parse_args()
    torch.set_num_threads(1)
    data, categories = acord(options.mirror), cuad(options.mirror)
    if options.labels:
        show_labels(data, categories)
        return
    every = data.of("training", "validation")
    folds = [{name for name, query in every.items() if kind(query) in kinds} for kinds in KINDS]
    untrained = vectors(options.kept / "zero_s0_r96.npz", data, every)
    run = {"short": RUN | {"index": "query"}}
    hits = lexical.retrieve_bm25(as_test(data, every), run)["short"]
    words = {name: dict(of) for name, of in hits.items()}
    cosines = similarities(data, every, untrained)
    pool = {
        clause
        for scores in (words, cosines)
        for of in first(scores, DEPTH, data.documents).values()
        for clause in of
    }
    pool |= {clause for name in every for clause, gain in data.judged[name].items() if gain}
    small = replace(
        data, judged={name: {c: g for c, g in data.judged[name].items() if c in pool} for name in every}
    )
    read = replace(data, documents={name: data.documents[name] for name in untrained[0]})
    learnt: dict[str, dict[str, float]] = {}
    for held in folds:
        part, linear_run = as_test(read, held, every.keys() - held), RUN | {"topics": 100, "penalty": 0.001}
        learnt |= {
            name: dict(of)
            for name, of in linear.retrieve(part, {"short": linear_run}, None)[0]["short"].items()
        }
    words, learnt = (first(of, RUN["top"], pool) for of in (words, learnt))
    origins = {name: query["origin"] for name, query in every.items()}
    measured = partial(systems, data, words=words, learnt=learnt, pool=pool)
    off_the_shelf = measured(every, untrained)
    on_cuad = measured(
        every,
        vectors(options.kept / "cuad24_s0_r96.npz", small, every, lambda model: fit_cuad(model, categories)),
    )
    tuned: dict[str, dict[str, Any]] = defaultdict(dict)
    for number, held in enumerate(folds):
        train = partial(fit_acord, data=data, queries=every.keys() - held)
        kept = vectors(options.kept / f"base_k{number}_s0_r96.npz", small, held, train)
        for system, of in measured(held, kept).items():
            tuned[system] |= of
    for system, of in off_the_shelf.items():
        show("MiniLM", {system: of}, of, origins)
        show("trained on CUAD", {system: on_cuad[system]}, of, origins)
    for reference in ("+ BM25", "+ BM25, with feedback"):
        show(f"tuned, by {reference}", tuned, tuned[reference], origins)


if __name__ == "__main__":
    main()
