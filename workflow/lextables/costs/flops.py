"""How much a job asks of a model, in floating-point operations, from its settings and the sizes of its data.

An operation is a multiplication or an addition.  A token that passes a transformer of ``layers`` of ``width``
is multiplied by 12 x layers x width^2 weights, and with each token beside it 2 x layers x width times for
attention; a training does this three times (forward, and back to weights and to inputs).  What embeddings and
heads take is left out.  Paddings are not counted, nor what families do otherwise (DeBERTa's two more
attentions).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.costs.texts import Texts

Shape = tuple[int, int]  # layers and width
READING, TRAINING = 1, 3
TOP = 100  # hits that a retriever hands on, where its settings do not say
PIECE = 256  # tokens that an encoder of sentences reads at most
MOST = 512  # and any other encoder, where its settings do not say
SPECIALS = 3
CHARACTERS_A_TOKEN = 4
ANSWERS_AGAIN = 0.2  # the share of questions about a piece of a contract whose passage is asked for


@dataclass(frozen=True)
class Step:
    """A run as its cost goes by it: its data set, settings, model, and the trials that are chosen from."""

    dataset: str
    settings: Mapping[str, Any]
    model: str
    trials: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Load:
    """So many sequences of so many tokens each; ``times`` is `TRAINING` or `READING`."""

    sequences: float
    tokens: float
    times: int = READING


@dataclass(frozen=True)
class Calls:
    """What a language model is asked: how often, and the tokens that it is sent and answers."""

    requests: float = 0
    sent: float = 0
    received: float = 0


def flops(shape: Shape, loads: Sequence[Load]) -> float:
    """Return the operations of these loads on a model of this shape."""
    layers, width = shape
    return sum(
        load.times * load.sequences * load.tokens * layers * (24 * width**2 + 4 * load.tokens * width)
        for load in loads
    )


# Retrieval.


def _first_stage(steps: Sequence[Step], texts: Texts) -> list[Load]:
    """Documents are encoded once for all forms of the queries; filtered ones for each query."""
    one = steps[0]
    documents, length = texts[one.dataset, "documents"], one.settings.get("max_length") or MOST
    found = [Load(texts[one.dataset, "test"].rows * len(steps), texts[one.dataset, "test"].tokens)]
    for way in {step.settings.get("documents", "whole") for step in steps}:
        if way == "whole":
            found.append(Load(documents.rows, min(documents.tokens, length)))
        elif way == "paragraphs":
            found.append(
                Load(documents.rows * max(1, documents.tokens / length), min(documents.tokens, length))
            )
        else:
            found.append(Load(texts[one.dataset, "judged"].rows, length))
    return found


def _pairs(step: Step, texts: Texts, split: str = "test") -> Load:
    """The first hits of each query, each with the query."""
    queries, judged = texts[step.dataset, split], texts[step.dataset, "judged"]
    hits = min(step.settings.get("top", TOP), judged.rows / max(1, texts[step.dataset, "test"].rows))
    both = queries.tokens + texts[step.dataset, "documents"].tokens
    return Load(queries.rows * hits, min(both, step.settings.get("max_length") or MOST))


def _second_stage(steps: Sequence[Step], texts: Texts) -> list[Load]:
    return [_pairs(step, texts) for step in steps]


def _tuning(step: Step, texts: Texts) -> Load:
    """A bi-encoder's batch has each query with documents of its own; a cross-encoder's is of pairs."""
    length, documents = step.settings["max_length"], texts[step.dataset, "documents"].tokens
    sequences = updates(step, texts) * step.settings["batch_size"]
    if step.settings["kind"] == "bi-encoder":
        return Load(sequences * (1 + step.settings.get("documents", 8)), min(documents, length), TRAINING)
    return Load(sequences, min(documents + texts[step.dataset, "train"].tokens, length), TRAINING)


def _retrieval_training(steps: Sequence[Step], texts: Texts) -> list[Load]:
    return [_tuning(step, texts) for step in steps]


def _retrieval_search(steps: Sequence[Step], texts: Texts) -> list[Load]:
    """It is read at each number of updates."""
    found = []
    for step in steps:
        read = _pairs(step, texts, "valid")
        found += [_tuning(step, texts), Load(read.sequences * len(step.settings["updates"]), read.tokens)]
    return found


# Spans.


def windows(step: Step, texts: Texts, *parts: str) -> float:
    """Return the windows in which all questions are asked of the contracts of these parts."""
    question = texts[step.dataset, "questions"]
    return question.rows * sum(
        texts[step.dataset, part].rows
        * min(_windows(step, texts, part), step.settings.get("windows_per_question") or math.inf)
        for part in parts
    )


def _windows(step: Step, texts: Texts, part: str) -> int:
    room = _room(step, texts)
    return 1 + max(0, math.ceil((texts[step.dataset, part].tokens - room) / min(room, step.settings["step"])))


def _room(step: Step, texts: Texts) -> float:
    """Tokens of a contract in a window."""
    return max(8.0, step.settings["max_length"] - texts[step.dataset, "questions"].tokens - SPECIALS)


def _span_training(steps: Sequence[Step], texts: Texts) -> list[Load]:
    """Balanced by a sample: as many windows without an answer as with one, each in those that overlap."""
    found = []
    for step in steps:
        settings = step.settings
        if settings["balance"] == "sample":
            overlap = max(1.0, _room(step, texts) / settings["step"])
            seen = 2 * overlap * texts[step.dataset, "answered"].rows
        else:
            seen = windows(step, texts, "train")
        epochs = settings.get("epochs") or _mean([trial["epochs"] for trial in step.trials])
        seen *= settings["percent"] / 100 * epochs
        most = (settings["max_updates"] or math.inf) * settings["batch_size"]
        found.append(Load(min(seen, most), settings["max_length"], TRAINING))
    return found


def _span_search(steps: Sequence[Step], texts: Texts) -> list[Load]:
    found = _span_training(steps, texts)
    for step in steps:
        held = step.settings["held_out"]
        read = windows(step, texts, "dev") if held == "dev" else held * windows(step, texts, "train")
        found.append(Load(read, step.settings["max_length"]))
    return found


def _span_reading(steps: Sequence[Step], texts: Texts) -> list[Load]:
    return [Load(windows(step, texts, "test"), step.settings["max_length"]) for step in steps]


def _pretraining(steps: Sequence[Step], texts: Texts) -> list[Load]:
    return [
        Load(s.settings["updates"] * s.settings["batch_size"], s.settings["max_length"], TRAINING)
        for s in steps
    ]


def _units(steps: Sequence[Step], texts: Texts) -> list[Load]:
    """Every sentence of every contract: as many tokens as these have, in units of a few."""
    found = []
    for step in steps:
        for part in ("train", "dev", "test"):
            if (step.dataset, part) in texts.parts:
                contracts = texts[step.dataset, part]
                unit = step.settings["max_length"] / 2
                found.append(Load(contracts.rows * contracts.tokens / unit, unit))
    return found


# Classification.


def example(step: Step, texts: Texts, settings: Mapping[str, Any]) -> float:
    """Return the tokens of an example as a reading of these settings sees it."""
    view = settings.get("view") or step.settings.get("view") or {"text": "text_id", "pair": None}
    columns = [column for column in (view["text"], view.get("pair")) if column]
    length = settings.get("max_length") or step.settings["max_length"]
    return min(sum(texts[step.dataset, column].tokens for column in columns), length)


def _class_training(steps: Sequence[Step], texts: Texts) -> list[Load]:
    return [
        Load(
            updates(step, texts) * step.settings["batch_size"], example(step, texts, step.settings), TRAINING
        )
        for step in steps
    ]


def _class_reading(steps: Sequence[Step], texts: Texts) -> list[Load]:
    return [
        Load(texts[step.dataset, "test"].rows, example(step, texts, reading))
        for step in steps
        for reading in step.settings.get("readings", [step.settings])
    ]


def _class_search(steps: Sequence[Step], texts: Texts) -> list[Load]:
    """It is read at each number of updates; one model a head is trained so often, and read for its own."""
    found = []
    for step in steps:
        heads = _heads(step, texts)
        found += [
            Load(load.sequences * heads, load.tokens, load.times) for load in _class_training([step], texts)
        ]
        read = texts[step.dataset, "dev"].rows * len(step.settings["updates"])
        found.append(Load(read, example(step, texts, step.settings)))
    return found


def _singly(steps: Sequence[Step], texts: Texts) -> list[Load]:
    trained = [
        Load(load.sequences * _heads(step, texts), load.tokens, load.times)
        for step in steps
        for load in _class_training([step], texts)
    ]
    return trained + _class_reading(steps, texts)


def _heads(step: Step, texts: Texts) -> float:
    if step.settings["setting"] != "single":
        return 1
    heads = len(step.settings.get("only") or ()) or texts[step.dataset, "heads"].rows
    return min(heads, step.settings.get("heads") or math.inf)


def _class_vectors(steps: Sequence[Step], texts: Texts) -> list[Load]:
    tokens = texts[steps[0].dataset, "text_id"]
    return [Load(tokens.rows * max(1, tokens.tokens / PIECE), min(tokens.tokens, PIECE))]


def updates(step: Step, texts: Texts) -> float:
    """Return how many updates a training takes: the last of those tried, or by passes over the examples.

    Of one that goes by a choice that is yet to be made it is the mean of what is tried.
    """
    settings = step.settings
    if settings.get("passes"):
        part = f"train {settings['where']}" if settings.get("where") else "train"
        rows = texts[step.dataset, part].rows * settings.get("percent", 100) / 100
        return max(1.0, settings["passes"] * rows / settings["batch_size"])
    tried = settings.get("updates") or [count for trial in step.trials for count in trial["updates"]]
    return max(tried) if settings.get("updates") else _mean(tried)


def _mean(numbers: Sequence[float]) -> float:
    if not numbers:
        raise LookupError("nothing says how long the training is")
    return sum(numbers) / len(numbers)


# Answers.


def _paragraphs(steps: Sequence[Step], texts: Texts) -> list[Load]:
    paragraphs = texts[steps[0].dataset, "paragraphs"]
    return [Load(paragraphs.rows, min(paragraphs.tokens, PIECE))]


# What is asked of language models.


def _prompt(settings: Mapping[str, Any], name: str = "prompt") -> float:
    return sum(len(text) for _, text in settings[name]) / CHARACTERS_A_TOKEN


def asked_hits(step: Step, texts: Texts) -> Calls:
    """Calls about the hits of queries: one a hit, or two a pair of neighbours and pass."""
    settings, queries = step.settings, texts[step.dataset, "test"]
    hits = min(settings.get("hits") or TOP, texts[step.dataset, "judged"].rows / max(1, queries.rows))
    shown, requests = 1, queries.rows * hits
    if settings["way"] == "pairwise":
        shown, requests = (
            2,
            queries.rows * sum(2 * max(0, hits - 1 - done) for done in range(settings["passes"])),
        )
    each = _prompt(settings) + queries.tokens + shown * texts[step.dataset, "documents"].tokens
    return Calls(requests, requests * each, requests)


def asked_contracts(step: Step, texts: Texts) -> Calls:
    """Calls about pieces of contracts: whether there is a passage, and of some which."""
    settings, contracts, questions = (
        step.settings,
        texts[step.dataset, "test"],
        texts[step.dataset, "questions"],
    )
    size = settings["words"] * 1.4
    pieces = math.ceil(contracts.tokens / size)
    requests = contracts.rows * pieces * min(questions.rows, settings["questions"] or math.inf)
    each = _prompt(settings, "presence") + questions.tokens + contracts.tokens / pieces
    again = requests * ANSWERS_AGAIN
    return Calls(requests + again, (requests + again) * each, requests + again * settings["tokens"] / 2)


def asked_examples(step: Step, texts: Texts) -> Calls:
    """Calls about examples, each with its options in one order or two."""
    requests, sent = 0.0, 0.0
    for reading in step.settings.get("readings", [{}]):
        asked = texts[step.dataset, "test"].rows * step.settings["orders"]
        tokens = example(step, texts, {"max_length": math.inf} | dict(reading))
        requests, sent = requests + asked, sent + asked * (_prompt(step.settings) + tokens)
    return Calls(requests, sent, requests)


def asked_documents(step: Step, texts: Texts) -> Calls:
    """Calls about documents, each question with its options in one order or two."""
    settings, documents = step.settings, texts[step.dataset, "documents"]
    requests = documents.rows * texts[step.dataset, "questions"].rows * settings["orders"]
    best = settings.get("best", 1) * texts[step.dataset, "paragraphs"].tokens
    shown = documents.tokens if settings.get("text") == "whole" else best
    return Calls(requests, requests * (_prompt(settings) + shown), requests)


def asked_paragraphs(step: Step, texts: Texts) -> Calls:
    """Calls about the paragraphs of a document that are nearest to a question."""
    settings, paragraph = step.settings, texts[step.dataset, "paragraphs"]
    pairs = texts[step.dataset, "documents"].rows * texts[step.dataset, "questions"].rows
    requests = pairs * settings["best"]
    return Calls(requests, requests * (_prompt(settings) + paragraph.tokens), requests)


def embedded(step: Step, texts: Texts) -> Calls:
    """Texts that a server makes vectors of."""
    documents, queries = texts[step.dataset, "documents"], texts[step.dataset, "test"]
    return Calls(
        documents.rows + queries.rows, documents.rows * documents.tokens + queries.rows * queries.tokens
    )


# What a rule's jobs have a model read or learn, by the rule's name without the data set's; and what they ask.
LOADS: Mapping[str, Callable[[Sequence[Step], Texts], list[Load]]] = {
    "retrieve_dense": _first_stage,
    "rerank": _second_stage,
    "rerank_dense": _second_stage,
    "retrieval_search": _retrieval_search,
    "retrieval_train": _retrieval_training,
    "retrieval_rerank_tuned": _second_stage,
    "retrieval_rerank_classified": _second_stage,
    "retrieval_dense_tuned": _first_stage,
    "spans_pretrain": _pretraining,
    "spans_search": _span_search,
    "spans_train": _span_training,
    "spans_read": _span_reading,
    "spans_vectors": _units,
    "classification_search": _class_search,
    "classification_singly": _singly,
    "classification_train": _class_training,
    "classification_read": _class_reading,
    "classification_vectors": _class_vectors,
    "answers_vectors": _paragraphs,
    "answers_mark_vectors": _paragraphs,
}
CALLS: Mapping[str, Callable[[Step, Texts], Calls]] = {
    "ask": asked_hits,
    "spans_ask": asked_contracts,
    "classification_ask": asked_examples,
    "answers_ask": asked_documents,
    "answers_mark_ask": asked_paragraphs,
    "retrieve_api": embedded,
}


def calls(rule: str, steps: Sequence[Step], texts: Texts) -> Calls:
    """Return what the jobs of a rule that asks language models ask in these runs."""
    each = [CALLS[rule](step, texts) for step in steps]
    if rule == "retrieve_api":
        each = each[:1]  # a text is sent once, whatever the form of the queries
    return Calls(*(sum(getattr(one, name) for one in each) for name in ("requests", "sent", "received")))


def asked_loads(found: Calls) -> list[Load]:
    """What a language model of this machine reads and writes for these calls."""
    return [Load(found.requests, (found.sent + found.received) / found.requests)] if found.requests else []
