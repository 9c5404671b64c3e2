"""Linear baselines for span extraction.  Training takes minutes on a CPU.

Three stacked models:

1. `unit_scores`: probability that a text unit (sentence or line) answers a category.
2. `candidates`: probability that a candidate span is a correct answer under the evaluator's matching rule.
3. `overlaps`: probability that a candidate is correct and not already covered by a higher-ranked one.

Each model is trained on out-of-fold predictions of the previous one, which keeps probabilities calibrated on
unseen contracts and comparable across categories.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from threadpoolctl import threadpool_limits

from lextables.metrics.spans import paper_words
from lextables.models import linear
from lextables.models.linear import Linear, Vocabulary, probabilities
from lextables.pipeline.dataset import Row, read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import candidates as spans
from lextables.tasks.spans import overlaps, unit_scores
from lextables.tasks.spans.candidates import Candidates
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.shares import part
from lextables.tasks.spans.unit_scores import UnitModel
from lextables.tasks.spans.units import Span, Units, units_of
from lextables.tasks.spans.vectors import read_vectors

WEIGHTS = "linear.npz"
ALL_TRAINING_DATA = 100  # per cent of the training contracts
MIN_PART_SHARE = 0.1  # of a category's answers, for a kind of part to become candidates

Answers = Mapping[int, Sequence[tuple[int, Span]]]


@dataclass(frozen=True)
class SpanModel:
    """The trained models, with the kinds of ``parts`` and the matching rule (``relaxed``) of each category.

    For each category, ``second`` has weights for `candidates.candidate_features` and `candidates.part_words`,
    and ``third`` for `overlaps.overlap_features`.
    """

    categories: tuple[str, ...]
    relaxed: tuple[bool, ...]
    parts: tuple[tuple[str, ...], ...]
    units: UnitModel
    second: tuple[Linear, ...]
    third: tuple[Linear, ...]


def fit(
    texts: Sequence[str], answers: Answers, categories: Sequence[str], relaxed: str | None,
    settings: Mapping[str, Any], threads: int = 1, vectors: np.ndarray | None = None,
) -> SpanModel:  # fmt: skip
    """Train the three models.

    ``answers`` maps a contract to the category and position of each answer.  In categories whose name
    contains ``relaxed``, a candidate is also correct if it contains an answer.  ``settings``: ``features``
    and the fields of `plan.LinearSettings`.  ``vectors`` (units, dimensions) are needed if the features use
    them.
    """
    relaxed_flags = tuple(bool(relaxed) and relaxed in category for category in categories)
    found = units_of(texts)
    folds = [
        np.random.default_rng(0).permutation(len(texts)) % settings["folds"] == number
        for number in range(settings["folds"])
    ]
    words = None if settings["features"] == "vectors" else unit_scores.vocabularies(found)
    known = unit_scores.views(found, words, vectors)
    held = unit_scores.answering(found, answers, len(categories))
    options = {name: settings[name] for name in ("alpha", "epochs", "dense")} | {"threads": threads}
    logits = np.zeros(held.shape, dtype=np.float32)
    for fold in folds:
        out = fold[found.contract]
        taught = unit_scores.fit(known, held, ~out, **options)
        logits[out] = unit_scores.logits(taught, [view[out] for view in known], settings["share"])
    everything = np.ones(len(held), dtype=bool)
    units = UnitModel(words, unit_scores.fit(known, held, everything, **options), settings["share"])

    asked = [Asked(found, answers, category, relaxes) for category, relaxes in enumerate(relaxed_flags)]
    parts = tuple(each.parts() for each in asked)
    given = [
        spans.candidates(found, logits[:, category], settings["units"], parts[category], not relaxes)
        for category, relaxes in enumerate(relaxed_flags)
    ]
    matched = [each.matched(own) for each, own in zip(asked, given, strict=True)]
    # Categories answered by whole units are alike, and some have few answers: they share a prior model.
    likened = {at for at, relaxes in enumerate(relaxed_flags) if not relaxes and not parts[at]}
    weighed = partial(_weighed, likened=likened, penalty=settings["penalty"], near=settings["near"])
    second, scores = _second(found, given, logits, matched, [bool(each) for each in parts], folds, weighed)

    beside = [overlaps.overlap_features(own, score) for own, score in zip(given, scores, strict=True)]
    adds = [overlaps.new_answers(*each) for each in zip(given, scores, matched, strict=True)]
    third = weighed(beside, [new for new, _ in adds], [None] * len(given), [used for _, used in adds])
    return SpanModel(tuple(categories), relaxed_flags, parts, units, second, third)


def _second(
    found: Units, given: Sequence[Candidates], logits: np.ndarray,
    matched: Sequence[Sequence[frozenset[int]]], worded: Sequence[bool], folds: Sequence[np.ndarray],
    weighed: Callable[..., tuple[Linear, ...]],
) -> tuple[tuple[Linear, ...], list[np.ndarray]]:  # fmt: skip
    """Return the second models and the out-of-fold logit of each candidate."""
    described = [spans.candidate_features(own, found, logits[:, at]) for at, own in enumerate(given)]
    words = [spans.part_words(own, found) if has else None for own, has in zip(given, worded, strict=True)]
    counted = [np.array([bool(those) for those in each], dtype=bool) for each in matched]
    scores = [np.zeros(len(own.contract)) for own in given]
    for fold in folds:
        learnt = [~fold[own.contract] for own in given]
        for at, model in enumerate(weighed(described, counted, words, learnt)):
            out = ~learnt[at]
            scores[at][out] = model.logits(_beside(described[at], words[at], out))[:, 0]
    everything = [np.ones(len(own.contract), dtype=bool) for own in given]
    return weighed(described, counted, words, everything), scores


# With several threads sums differ in the last bits, and such small problems are slower on busy cores.
@threadpool_limits.wrap(limits=1)
def _weighed(
    described: Sequence[np.ndarray], counted: Sequence[np.ndarray], words: Sequence[csr_matrix | None],
    rows: Sequence[np.ndarray], *, likened: Set[int], penalty: float, near: float,
) -> tuple[Linear, ...]:  # fmt: skip
    """Train a model for each category on ``rows``; the ``likened`` stay near a shared model."""
    known = [each[own] for each, own in zip(described, rows, strict=True)]
    held = [each[own] for each, own in zip(counted, rows, strict=True)]
    if likened:
        together = [np.concatenate([each[at] for at in sorted(likened)]) for each in (known, held)]
        shared = linear.fit_few(*together, penalty=penalty)
    return tuple(
        linear.fit_near(shared, known[at], held[at], penalty=near)
        if at in likened
        else linear.fit_few(
            known[at], held[at], penalty=penalty, words=None if words[at] is None else words[at][rows[at]]
        )
        for at in range(len(known))
    )


def _beside(known: np.ndarray, words: csr_matrix | None, rows: np.ndarray) -> np.ndarray | csr_matrix:
    """Return these rows of candidate features, with the words of parts if there are any."""
    if words is None:
        return known[rows]
    return csr_matrix(hstack([csr_matrix(known[rows]), words[rows]]))


class Asked:
    """The answers of one category, and the rule by which a candidate finds one."""

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

    def matched(self, given: Candidates) -> list[frozenset[int]]:
        """Return the numbers of the answers each candidate finds (as `metrics.spans.paper_matches`)."""
        texts = given.texts(self.found)
        asked = [at for at, contract in enumerate(given.contract.tolist()) if self.places.get(contract)]
        held: list[frozenset[int]] = [frozenset()] * len(texts)
        for at, words in zip(asked, word_sets([texts[at] for at in asked]), strict=True):
            contract = int(given.contract[at])
            golds = enumerate(zip(self.words[contract], self.texts[contract], strict=True))
            held[at] = frozenset(
                number
                for number, (gold, text) in golds
                if alike(words, gold) or (self.relaxed and text in texts[at])
            )
        return held

    def parts(self) -> tuple[str, ...]:
        """Return the kinds of parts that make up more than `MIN_PART_SHARE` of the answers."""
        if self.relaxed:
            return ()
        counts: Counter[str] = Counter()
        for contract, places in self.places.items():
            text = self.found.texts[contract]
            for gold, (start, end) in zip(self.words[contract], places, strict=True):
                near = text[start : end + 1]
                for name, those in spans.PARTS.items():
                    inside = word_sets([near[first:last] for first, last in those(near)])
                    if any(alike(words, gold) for words in inside):
                        counts[name] += 1
                        break  # count an answer for its first kind only
        total = sum(map(len, self.places.values()))
        return tuple(name for name in spans.PARTS if counts[name] > MIN_PART_SHARE * total)


def word_sets(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the set of words of each text, as the released evaluator splits it."""
    return [paper_words(text) for text in texts]


def alike(one: frozenset[bytes], other: frozenset[bytes]) -> bool:
    """Whether the Jaccard similarity of two sets of words is at least 0.5."""
    return 3 * len(one & other) >= len(one) + len(other)


def predict(
    model: SpanModel, texts: Sequence[str], likely: int, vectors: np.ndarray | None = None
) -> list[tuple[Candidates, np.ndarray]]:
    """Return the candidates of each category, from the ``likely`` best units of a contract, and their logits.

    ``vectors`` (units, dimensions) are needed if the model was trained with them.
    """
    found = units_of(texts)
    logits = model.units.logits(found, vectors)
    given = []
    models = zip(model.relaxed, model.parts, model.second, model.third, strict=True)
    for category, (relaxed, parts, second, third) in enumerate(models):
        own = spans.candidates(found, logits[:, category], likely, parts, not relaxed)
        known = spans.candidate_features(own, found, logits[:, category])
        words = spans.part_words(own, found) if parts else None
        score = second.logits(_beside(known, words, np.ones(len(known), dtype=bool)))[:, 0]
        given.append((own, third.logits(overlaps.overlap_features(own, score))[:, 0]))
    return given


# The files of a run.


def train(
    contracts: Path, examples: Path, settings: Mapping[str, Any], threads: int, output: str | Path,
    vectors: str | Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Train on ``settings["percent"]`` of the training contracts, save to ``output``, and return the record.

    Input tables: `squad.CONTRACTS`, `squad.EXAMPLES` and, if the features use vectors, `vectors.VECTORS`.
    Raises `BadInput` if there is no training example.
    """
    texts = {row["contract_id"]: row["text"] for row in read(contracts) if row["split"] != "test"}
    if settings["percent"] < ALL_TRAINING_DATA:
        texts = {name: texts[name] for name in part(texts, settings["percent"], seed=0)}
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
    known = read_vectors(vectors, names) if vectors else None
    chosen = [texts[name] for name in names]
    model = fit(chosen, answers, categories, settings["relaxed"], settings, threads, known)
    save(model, Path(output) / WEIGHTS)
    return {
        "contracts": len(names),
        "answers": sum(map(len, answers.values())),
        "weights": sum(each.weights.size for each in model.units.linear + model.second + model.third),
    }


def read_contracts(
    contracts: Path, questions: Path, settings: Mapping[str, Any], weights: str | Path, output: str | Path,
    vectors: str | Path | None = None,
) -> None:  # fmt: skip
    """Write the best spans for each question about the test contracts (`schema.NBEST`).

    The start logit is the candidate's logit and the end logit is 0.  Each candidate has a probability of its
    own, so those of a question need not sum to one.  The empty prediction has one minus the probability of
    the best span.  Raises `BadInput` for a category without training examples.
    """
    model = load(Path(weights) / WEIGHTS)
    asked = [row for row in read(questions) if row["split"] == "test"]
    if new := sorted({row["category"] for row in asked} - set(model.categories)):
        raise BadInput(f"the category {new[0]!r} was not learnt", where=str(questions), do="train again")
    texts = {row["contract_id"]: row["text"] for row in read(contracts) if row["split"] == "test"}
    known = read_vectors(vectors, sorted(texts)) if vectors else None
    write(NBEST, spans_of(model, texts, asked, settings, known), output)


def spans_of(
    model: SpanModel, texts: Mapping[str, str], asked: Iterable[Row], settings: Mapping[str, Any],
    known: np.ndarray | None = None,
) -> Iterator[Row]:  # fmt: skip
    """Yield the rows of `schema.NBEST` for the questions ``asked``, sorted by question id.

    ``texts`` maps contract ids to texts; ``known`` are the vectors of their units, contracts sorted by id, if
    the model uses vectors.  ``settings``: ``units``, ``n_best`` (`plan.LinearSettings`).
    """
    names = sorted(texts)
    given = predict(model, [texts[name] for name in names], settings["units"], known)
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
    """Yield (contract, [(logit, start, end) of its candidates])."""
    bounds = np.searchsorted(given.contract, np.arange(contracts + 1))
    for contract, (start, end) in enumerate(pairwise(bounds.tolist())):
        own = (column[start:end].tolist() for column in (logits, given.start, given.end))
        yield contract, list(zip(*own, strict=True))


def nbest(question_id: str, text: str, found: Iterable[tuple[float, int, int]], n_best: int) -> Iterator[Row]:
    """Yield the rows of a question, best first: ``n_best`` spans with different texts, and the empty one."""
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
    """Write the models to ``path`` (.npz) as arrays and strings, without pickles."""
    units = model.units
    words, beside = units.vocabularies or ((), ())
    arrays = {"relaxed": np.array(model.relaxed), "share": np.array(units.share)}
    if units.vocabularies:
        arrays |= {"idf": words.idf, "idf_beside": beside.idf}
    stages = {"units": units.linear, "second": model.second, "third": model.third}
    for name, each_of in stages.items():
        for number, each in enumerate(each_of):
            arrays |= {f"{name}_weights_{number}": each.weights, f"{name}_intercept_{number}": each.intercept}
    names = {
        "categories": model.categories,
        "parts": [" ".join(parts) for parts in model.parts],
        "words": words.terms if words else (),
        "beside": beside.terms if beside else (),
    }
    linear.save(arrays, names, path)


def load(path: str | Path) -> SpanModel:
    """Read models written by `save`."""
    arrays, names = linear.load(path, ("categories", "parts", "words", "beside"))

    def stage(name: str) -> tuple[Linear, ...]:
        count = sum(key.startswith(f"{name}_weights_") for key in arrays)
        places = [(f"{name}_weights_{at}", f"{name}_intercept_{at}") for at in range(count)]
        return tuple(Linear(arrays[weights], arrays[intercept]) for weights, intercept in places)

    vocabularies = None
    if "idf" in arrays:
        words = Vocabulary(names["words"], arrays["idf"], 2)
        vocabularies = words, Vocabulary(names["beside"], arrays["idf_beside"], 1)
    units = UnitModel(vocabularies, stage("units"), float(arrays["share"]))
    parts = tuple(tuple(line.split()) for line in names["parts"])
    return SpanModel(
        names["categories"], tuple(arrays["relaxed"].tolist()), parts, units, stage("second"), stage("third")
    )
