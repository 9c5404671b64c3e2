"""Tokens that runs send to language models, and receive, estimated from the sizes of their data sets."""

import csv
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

CHARACTERS_PER_TOKEN = 4
# Share of questions about a part of a contract after which the model is asked to quote the passage.
QUOTED = 0.2
# Tokens of an output: most questions about a contract have no related clause, the others have a passage.
OUTPUT = 60
TOP = 100  # hits that are reranked, if the settings name no number

Tokens = tuple[float, float]
Texts = Mapping[tuple[str, str], tuple[float, float]]
Parts = Mapping[str, tuple[float, float]]


def load_texts(path: str | Path, data: str, volumes: int) -> Texts:
    """Return {(data set, part): (rows, mean tokens)}; parts of LawngNLI grow with its ``volumes``."""
    texts = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["data"] == data:
                grow = volumes / float(row["volumes"]) if row["volumes"] else 1.0
                texts[row["dataset"], row["part"]] = (
                    float(row["rows"]) * grow,
                    float(row["tokens"]),
                )
    return texts


def tokens(
    rule: str, dataset: str, settings: Mapping[str, Any], texts: Texts
) -> Tokens:
    """Return the tokens of a run with ``settings``; `KeyError` if its data set is not in ``texts``."""
    return _TOKENS[rule](
        settings,
        {part: value for (name, part), value in texts.items() if name == dataset},
    )


def _asked(settings: Mapping[str, Any], requests: float, tokens: float) -> Tokens:
    """Requests of the prompt and so many tokens each, with answers of one token."""
    prompt = sum(len(text) for _, text in settings["prompt"]) / CHARACTERS_PER_TOKEN
    return requests * (prompt + tokens), requests


def _embedding(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    return sum(rows * tokens for rows, tokens in (parts["documents"], parts["test"])), 0


def _reranking(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each hit, or two for each pair of neighbours and pass."""
    queries, tokens = parts["test"]
    hits = min(settings.get("hits") or TOP, parts["judged"][0] / max(1, queries))
    documents, requests = 1, queries * hits
    if settings["way"] == "pairwise":
        documents = 2
        requests = queries * sum(
            2 * max(0, hits - 1 - done) for done in range(settings["passes"])
        )
    return _asked(settings, requests, tokens + documents * parts["documents"][1])


def _contracts(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each question and piece of a contract, and a second one for each answer."""
    (contracts, tokens), (questions, question) = parts["test"], parts["questions"]
    pieces = math.ceil(tokens / (settings["words"] * 1.4))
    first = contracts * pieces * min(questions, settings["questions"] or math.inf)
    sent, _ = _asked(
        {"prompt": settings["presence"]},
        first * (1 + QUOTED),
        question + tokens / pieces,
    )
    return sent, first + first * QUOTED * settings["tokens"] / 2


def _outputs(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each question, about the contract or the candidates; no answer from a cache counts."""
    (contracts, tokens), (questions, question) = parts["test"], parts["questions"]
    requests = contracts * min(questions, settings["questions"] or math.inf)
    if "least" in settings:
        requests, tokens = parts["candidates"]
    sent, _ = _asked(settings, requests, question + tokens)
    return sent, requests * OUTPUT


def _examples(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each example, reading and order of the options."""
    sent, received = 0.0, 0.0
    for reading in settings.get("readings", [{}]):
        view = (
            reading.get("view")
            or settings.get("view")
            or {"text": "text_id", "pair": None}
        )
        tokens = sum(
            parts[column][1] for column in (view["text"], view.get("pair")) if column
        )
        more = _asked(settings, parts["test"][0] * settings["orders"], tokens)
        sent, received = sent + more[0], received + more[1]
    return sent, received


def _questions(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each document, question and order of the options."""
    documents, tokens = parts["documents"]
    length = (
        tokens
        if settings.get("text") == "whole"
        else settings.get("best", 1) * parts["paragraphs"][1]
    )
    return _asked(
        settings, documents * parts["questions"][0] * settings["orders"], length
    )


def _paragraphs(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each document, question and selected paragraph."""
    requests = parts["documents"][0] * parts["questions"][0] * settings["best"]
    return _asked(settings, requests, parts["paragraphs"][1])


# By the end of the rule's name: rules of a data set begin with its name.
_TOKENS: Mapping[str, Callable[[Mapping[str, Any], Parts], Tokens]] = {
    "retrieve_api": _embedding,
    "ask": _reranking,
    "spans_ask": _contracts,
    "spans_write": _outputs,
    "classification_ask": _examples,
    "answers_ask": _questions,
    "answers_mark_ask": _paragraphs,
}
