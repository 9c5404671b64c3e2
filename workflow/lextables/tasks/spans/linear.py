"""Span extraction by linear models alone: what anyone can train in minutes, without weights or a GPU.

Two models, one on the other: the first says how likely each unit of a contract answers a category
(`unit_scores`); the second, for each category, how likely a candidate (`candidates`) is an answer as the
evaluator counts one.  The second learns from what the first says of contracts that it has not learnt from, a
fold at a time, so its probabilities hold for new contracts and can be compared across categories.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from lextables.dataset import Row, read, write
from lextables.errors import BadInput
from lextables.metrics.spans import TEXT_END, paper_words
from lextables.models import linear
from lextables.models.linear import Linear, Vocabulary, probabilities
from lextables.tasks.spans import candidates as spans
from lextables.tasks.spans import unit_scores
from lextables.tasks.spans.candidates import Candidates
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.unit_scores import UnitModel, Units, units_of
from lextables.tasks.spans.units import Span

WEIGHTS = "linear.npz"
MANY_PARTS = 0.1  # the share of a category's answers that are parts of a kind, for it to have such candidates

Answers = Mapping[int, Sequence[tuple[int, Span]]]


@dataclass(frozen=True)
class SpanModel:
    """Both models; ``parts`` are the kinds of parts that answer each category, ``relaxed`` which are relaxed.

    ``second`` has an output for each category, of weights for `candidates.described` and `candidates.words`.
    """

    categories: tuple[str, ...]
    relaxed: tuple[bool, ...]
    parts: tuple[tuple[str, ...], ...]
    units: UnitModel
    second: tuple[Linear, ...]


def fit(
    texts: Sequence[str], answers: Answers, categories: Sequence[str], relaxed: str | None,
    settings: Mapping[str, Any], threads: int = 1,
) -> SpanModel:  # fmt: skip
    """Return the models learnt from contracts.

    ``answers`` maps a contract to the category and the place of each of its answers; ``relaxed`` is the part
    of a category's name that lets a candidate count which holds an answer.  ``settings``: ``folds``,
    ``alpha``, ``epochs``, ``units``, ``penalty``, ``near`` (`plan.LinearSettings`).
    """
    loose = tuple(bool(relaxed) and relaxed in category for category in categories)
    found = units_of(texts)
    held = unit_scores.answering(found, answers, len(categories))
    vocabularies = unit_scores.vocabularies(found)
    known = unit_scores.features(found, *vocabularies)
    options = {name: settings[name] for name in ("alpha", "epochs")} | {"threads": threads}

    fold = np.random.default_rng(0).permutation(len(texts)) % settings["folds"]
    logits = np.zeros(held.shape, dtype=np.float32)
    for number in range(settings["folds"]):
        out = fold[found.contract] == number
        logits[out] = unit_scores.fit(known, held, ~out, **options).logits(known[out])
    first = unit_scores.fit(known, held, np.ones(len(held), dtype=bool), **options)

    asked = [Asked(found, answers, category, relaxes) for category, relaxes in enumerate(loose)]
    parts = tuple(each.parts() for each in asked)
    given = [
        spans.candidates(found, logits[:, category], settings["units"], parts[category], not relaxes)
        for category, relaxes in enumerate(loose)
    ]
    described = [spans.described(own, found, logits[:, at]) for at, own in enumerate(given)]
    counted = [each.counted(own) for each, own in zip(asked, given, strict=True)]
    # Categories that whole units answer have much in common, and some of them few answers.
    likened = [at for at, relaxes in enumerate(loose) if not relaxes and not parts[at]]
    penalty, second = settings["penalty"], {}
    if likened:
        together = [np.concatenate([each[at] for at in likened]) for each in (described, counted)]
        shared = linear.fit_few(*together, penalty=penalty)
        for at in likened:
            second[at] = linear.fit_near(shared, described[at], counted[at], penalty=settings["near"])
    for at in set(range(len(categories))) - second.keys():
        words = spans.words(given[at], found) if parts[at] else None
        second[at] = linear.fit_few(described[at], counted[at], penalty=penalty, words=words)
    units = UnitModel(*vocabularies, first)
    return SpanModel(tuple(categories), loose, parts, units, tuple(second[at] for at in sorted(second)))


class Asked:
    """The answers of one category in some contracts, and what counts as one of them."""

    def __init__(self, found: Units, answers: Answers, category: int, relaxed: bool) -> None:
        self.found, self.relaxed = found, relaxed
        self.places = {
            contract: [span for asked, span in those if asked == category]
            for contract, those in answers.items()
        }
        self.texts = {
            contract: [found.texts[contract][start:end] for start, end in those]
            for contract, those in self.places.items()
        }
        self.words = {contract: word_sets(texts) for contract, texts in self.texts.items()}

    def counted(self, given: Candidates) -> np.ndarray:
        """Return which candidates the evaluator counts as found (`metrics.spans.paper_matches`), bool."""
        texts = given.texts(self.found)
        asked = [at for at, contract in enumerate(given.contract.tolist()) if self.places.get(contract)]
        held = np.zeros(len(texts), dtype=bool)
        for at, words in zip(asked, word_sets([texts[at] for at in asked]), strict=True):
            contract = int(given.contract[at])
            held[at] = any(alike(words, gold) for gold in self.words[contract])
            if self.relaxed and not held[at]:
                held[at] = any(gold in texts[at] for gold in self.texts[contract])
        return held

    def parts(self) -> tuple[str, ...]:
        """Return the kinds of parts of a unit that many of the answers are, each counted for the first."""
        counts: Counter[str] = Counter()
        for contract, places in self.places.items():
            text = self.found.texts[contract]
            for gold, (start, end) in zip(self.words[contract], places, strict=True):
                near = text[start : end + 1]
                for name, those in spans.PARTS.items():
                    inside = word_sets([near[first:last] for first, last in those(near)])
                    if any(alike(words, gold) for words in inside):
                        counts[name] += 1
                        break  # what is a date is no name as well
        total = sum(map(len, self.places.values()))
        if self.relaxed:
            return ()
        return tuple(name for name in spans.PARTS if counts[name] > MANY_PARTS * total)


def word_sets(texts: Sequence[str]) -> list[frozenset[bytes]]:
    """Return the different words of each text, as the released evaluator makes them."""
    return [frozenset(words.split(b" ")[:-1]) for words in paper_words(texts).split(TEXT_END)[:-1]]


def alike(one: frozenset[bytes], other: frozenset[bytes]) -> bool:
    """Whether the Jaccard coefficient of two sets of words is at least 0.5."""
    return 3 * len(one & other) >= len(one) + len(other)


def predict(model: SpanModel, texts: Sequence[str], likely: int) -> list[tuple[Candidates, np.ndarray]]:
    """Return for each category its candidates in contracts, of ``likely`` units, and their logits."""
    found = units_of(texts)
    logits = model.units.logits(found)
    given = []
    for category, (relaxed, parts, second) in enumerate(
        zip(model.relaxed, model.parts, model.second, strict=True)
    ):
        own = spans.candidates(found, logits[:, category], likely, parts, not relaxed)
        known = spans.described(own, found, logits[:, category])
        score = known @ second.weights[: known.shape[1]]
        if parts:
            score = score + spans.words(own, found) @ second.weights[known.shape[1] :]
        given.append((own, np.asarray(score)[:, 0] + second.intercept[0]))
    return given


# The files of a run.


def train(
    contracts: Path, examples: Path, settings: Mapping[str, Any], threads: int, output: str | Path
) -> dict[str, Any]:
    """Learn from the training contracts, save to the folder ``output``, and return what the record says.

    ``contracts`` and ``examples`` are tables (`squad.CONTRACTS`, `squad.EXAMPLES`).  Raises `BadInput` where
    there is nothing to learn from.
    """
    texts = {row["contract_id"]: row["text"] for row in read(contracts) if row["split"] != "test"}
    rows = [row for row in read(examples) if row["contract_id"] in texts]
    if not rows:
        raise BadInput("no example of a training contract", where=str(examples), do="check the split")
    names, categories = sorted(texts), sorted({row["category"] for row in rows})
    place, number = ({name: at for at, name in enumerate(each)} for each in (names, categories))
    answers: dict[int, list[tuple[int, Span]]] = defaultdict(list)
    for row in rows:
        if row["start"] >= 0:
            span = (row["start"], row["end"])
            answers[place[row["contract_id"]]].append((number[row["category"]], span))
    model = fit([texts[name] for name in names], answers, categories, settings["relaxed"], settings, threads)
    save(model, Path(output) / WEIGHTS)
    return {
        "contracts": len(names),
        "answers": sum(map(len, answers.values())),
        "weights": int(model.units.linear.weights.size + sum(each.weights.size for each in model.second)),
    }


def read_contracts(
    contracts: Path, questions: Path, settings: Mapping[str, Any], weights: str | Path, output: str | Path
) -> None:
    """Write the likeliest spans of each question about the test contracts (`schema.NBEST`).

    A candidate's logit stands as that of its start, beside 0 for its end, and its probability is that of
    itself alone: those of a question need not add up to one.  The empty prediction has what the likeliest
    span leaves.  Raises `BadInput` for a category that was not learnt.
    """
    model = load(Path(weights) / WEIGHTS)
    asked = [row for row in read(questions) if row["split"] == "test"]
    if new := sorted({row["category"] for row in asked} - set(model.categories)):
        raise BadInput(f"the category {new[0]!r} was not learnt", where=str(questions), do="train again")
    texts = {row["contract_id"]: row["text"] for row in read(contracts) if row["split"] == "test"}
    write(NBEST, spans_of(model, texts, asked, settings), output)


def spans_of(
    model: SpanModel, texts: Mapping[str, str], asked: Iterable[Row], settings: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield the rows of `schema.NBEST` of the questions ``asked``, by id.

    ``texts`` are the contracts by their ids; ``settings``: ``units``, ``n_best`` (`plan.LinearSettings`).
    """
    names = sorted(texts)
    given = predict(model, [texts[name] for name in names], settings["units"])
    found = {
        (names[contract], category): those
        for category, (own, logits) in zip(model.categories, given, strict=True)
        for contract, those in by_contract(own, logits, len(names))
    }
    for question in sorted(asked, key=itemgetter("question_id")):
        those = found[question["contract_id"], question["category"]]
        yield from nbest(question["question_id"], texts[question["contract_id"]], those, settings["n_best"])


Scored = list[tuple[float, int, int]]


def by_contract(given: Candidates, logits: np.ndarray, contracts: int) -> Iterator[tuple[int, Scored]]:
    """Yield each contract with the logit, the start and the end of its candidates."""
    bounds = np.searchsorted(given.contract, np.arange(contracts + 1))
    for contract, (start, end) in enumerate(pairwise(bounds.tolist())):
        own = (column[start:end].tolist() for column in (logits, given.start, given.end))
        yield contract, list(zip(*own, strict=True))


def nbest(question_id: str, text: str, found: Iterable[tuple[float, int, int]], n_best: int) -> Iterator[Row]:
    """Yield a question's rows, the likeliest first: ``n_best`` spans, each text once, and the empty one."""
    best: dict[str, tuple[float, int, int]] = {}
    for logit, start, end in sorted(found, key=lambda one: (-one[0], one[1], one[2])):
        best.setdefault(text[start:end], (logit, start, end))
    spans_ = [(*place, words) for words, place in list(best.items())[:n_best]]
    empty = (-spans_[0][0] if spans_ else -linear.NEVER, -1, -1, "")
    for rank, (logit, start, end, words) in enumerate(sorted([*spans_, empty], key=lambda one: -one[0])):
        yield {
            "question_id": question_id,
            "rank": rank,
            "released_text": words,
            "text": words,
            "start": start,
            "end": end,
            "probability": float(probabilities(np.array(logit))),
            "start_logit": logit,
            "end_logit": 0.0,
        }


def save(model: SpanModel, path: str | Path) -> None:
    """Write the models to ``path`` (.npz) as plain arrays and names."""
    units = model.units
    arrays = {
        "relaxed": np.array(model.relaxed),
        "idf": units.words.idf,
        "idf_beside": units.beside.idf,
        "weights": units.linear.weights,
        "intercept": units.linear.intercept,
    }
    for number, second in enumerate(model.second):
        arrays |= {f"weights_{number}": second.weights, f"intercept_{number}": second.intercept}
    names = {
        "categories": model.categories,
        "parts": [" ".join(parts) for parts in model.parts],
        "words": units.words.terms,
        "beside": units.beside.terms,
    }
    linear.save(arrays, names, path)


def load(path: str | Path) -> SpanModel:
    """Read what `save` wrote; nothing in the file is run."""
    arrays, names = linear.load(path, ("categories", "parts", "words", "beside"))
    units = UnitModel(
        Vocabulary(names["words"], arrays["idf"], 2),
        Vocabulary(names["beside"], arrays["idf_beside"], 1),
        Linear(arrays["weights"], arrays["intercept"]),
    )
    second = tuple(
        Linear(arrays[f"weights_{number}"], arrays[f"intercept_{number}"])
        for number in range(len(names["categories"]))
    )
    parts = tuple(tuple(line.split()) for line in names["parts"])
    return SpanModel(names["categories"], tuple(arrays["relaxed"].tolist()), parts, units, second)
