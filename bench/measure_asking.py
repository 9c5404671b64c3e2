"""A language model asked through a server and on this machine: how its rankings differ, time, kept calls.

ACORD's test queries (a few of them), pointwise and pairwise, over BM25's first hits; and questions about the
documents of the privacy corpus, by the paragraphs most like them:

    python -m llama_cpp.server --model SmolLM2-135M-Instruct.Q4_1.gguf --model_alias smollm2 --n_ctx 4096 \\
        --logits_all true --port 8011
    PYTHONPATH=workflow .venv/bin/python bench/measure_asking.py results http://127.0.0.1:8011/v1 smollm2 \\
        SmolLM2-135M-Instruct.Q4_1.gguf

The server's model and the file are the same weights.  `results` holds both data sets and ACORD's run of BM25.
"""

import json
import os
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml

from lextables.metrics.ranking import by_name
from lextables.models import multiple_choice, prompts
from lextables.models.cached_model import open_language_model
from lextables.models.spending import Limits
from lextables.models.weights import PLACES
from lextables.tasks.answers import collection as answers
from lextables.tasks.answers.asking import Asker
from lextables.tasks.answers.plan import AnswersTask
from lextables.tasks.answers.texts import texts
from lextables.tasks.retrieval import asking, collection
from lextables.tasks.retrieval.collection import Collection
from lextables.tasks.retrieval.plan import RetrievalTask
from lextables.tasks.retrieval.schema import ranked

ACORD, PRIVACY = (Path(f"resources/papers/{paper}.yaml") for paper in ("acord", "privacy"))
PROMPTS = Path("resources/prompts")
CHAT = {"endpoint": "chat", "window": 4096}


def main() -> None:
    arguments = _arguments()
    os.environ[PLACES] = json.dumps({"file": {"folder": str(arguments.file.resolve())}})
    task = RetrievalTask.model_validate(yaml.safe_load(ACORD.read_text())["tasks"]["acord"]).model_dump()
    folder = arguments.results / "data/acord"
    found = collection.load([folder / f"{name}.parquet" for name in collection.files(task)], task)
    hits = ranked(arguments.results / "runs/acord/retrieve/bm25/short/seed0/predictions.parquet")
    queries = sorted(hits)[:: max(1, len(hits) // arguments.queries)][: arguments.queries]
    for way in ("pointwise", "pairwise"):
        settings = {
            "way": way,
            "form": "short",
            "queries": queries,
            "documents": "whole",
            "hits": arguments.hits,
            "passes": 1,
            "prompt": prompts.load(PROMPTS / f"acord_{way}.txt").plain(),
        }
        measure(found, {query: hits[query] for query in queries}, settings, arguments)
    measure_answers(arguments)


def measure(
    found: Collection, hits: Mapping[str, Sequence[str]], settings: Mapping[str, Any], arguments: Namespace
) -> None:
    """Rank the ``hits`` by both, twice each, and print how they differ."""
    way, ranked_by = settings["way"], {}
    for name, of_model in models(arguments).items():
        with TemporaryDirectory() as kept:
            for again in ("", ", again"):
                model = open_language_model(of_model | CHAT, kept, Limits(concurrency=1), "cpu")
                start = time.perf_counter()
                asked = asking.rerank(found, hits, settings, model)
                print(
                    f"{way}, {name}{again}: {time.perf_counter() - start:.1f} s, {asked.counts}", flush=True
                )
        ranked_by[name] = asked.hits
    first = {query: [(document, 0.0) for document in those] for query, those in hits.items()}
    for name, by in {"BM25": first, **ranked_by}.items():
        run = {query: [document for document, _ in those] for query, those in by.items()}
        values = by_name("NDCG@10")({query: dict(found.judged[query]) for query in hits}, run)
        print(f"{way}, {name}: NDCG@10 {np.mean([*values.values()]):.4f} of {len(hits)} queries")
    scores = {
        name: {(q, d): score for q, those in by.items() for d, score in those}
        for name, by in ranked_by.items()
    }
    apart = [abs(scores["served"][pair] - score) for pair, score in scores["here"].items()]
    print(f"{way}: scores differ by {max(apart):.4f} at most, by {np.mean(apart):.5f} on average")


def measure_answers(arguments: Namespace) -> None:
    """Ask both some questions about documents, in two orders of the options, and print how they differ."""
    task = AnswersTask.model_validate(yaml.safe_load(PRIVACY.read_text())["tasks"]["privacy"])
    folder = arguments.results / "data/privacy"
    data = [folder / f"{task.names.model_dump()[table]}.parquet" for table in answers.ANSWERED_FROM]
    known = answers.load(data, task.names.model_dump())
    settings = {"text": "retrieved", "best": 2, "prompt": prompts.load(PROMPTS / "policy_answer.txt").plain()}
    shown = list(texts(known, settings))
    asked = shown[:: max(1, len(shown) // arguments.questions)][: arguments.questions]
    given = {}
    for name, of_model in models(arguments).items():
        with TemporaryDirectory() as kept:
            model = open_language_model(of_model | CHAT, kept, Limits(concurrency=1), "cpu")
            asker = Asker(model, settings | {"samples": 1, "orders": 2})
            each = [(text, known.questions[pair[1]]) for pair, text in asked]
            start = time.perf_counter()
            answered = asker.ask(
                [asker.question(text, question, question.options) for text, question in each]
            )
            print(f"answers, {name}: {time.perf_counter() - start:.1f} s, {multiple_choice.counts(answered)}")
            given[name] = answered
    both = zip(given["served"], given["here"], strict=True)
    apart = [np.abs(np.subtract(one.probabilities, other.probabilities)).max() for one, other in both]
    print(f"answers: probabilities differ by {max(apart):.4f} at most, by {np.mean(apart):.5f} on average")


def models(arguments: Namespace) -> dict[str, dict[str, Any]]:
    """The settings of the served model, and of the same weights on this machine."""
    return {
        "served": {"model": "served", "weights": arguments.name, "api": arguments.api},
        "here": {"model": "here", "weights": "file", "revision": None},
    }


def _arguments() -> Namespace:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path)
    parser.add_argument("api")
    parser.add_argument("name", help="what the server calls the model")
    parser.add_argument("file", type=Path, help="the same weights on this machine")
    parser.add_argument("--queries", type=int, default=8)
    parser.add_argument("--hits", type=int, default=10)
    parser.add_argument("--questions", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    main()
