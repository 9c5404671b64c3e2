"""Baselines for span extraction: linear models and trees.

Training takes minutes on a CPU.  Three stacked models:

1. `segment_model`: probability that a segment (sentence or line) answers a category.
2. `candidates`: probability that a candidate span is a correct answer under the
   evaluator's matching rule.
3. `models.trees`: probability that a candidate is correct and not already covered by a
   higher-ranked one.  One model for all categories.  It sees the features of the
   second, the candidates that are ranked higher, the other categories' scores and the
   form of the text.

Each model is trained on out-of-fold predictions of the previous one, which keeps
probabilities calibrated on unseen contracts and comparable across categories.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from itertools import compress
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, hstack
from threadpoolctl import threadpool_limits

from lextables.metrics.spans import paper_words
from lextables.metrics.spans import similar as similar_words
from lextables.models import linear, trees
from lextables.models.linear import Linear, Vocabulary, probabilities
from lextables.models.trees import Trees
from lextables.pipeline.dataset import Row
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import candidates as spans
from lextables.tasks.spans import segment_model
from lextables.tasks.spans.candidates import Candidates
from lextables.tasks.spans.linear_settings import LinearRun, LinearSettings
from lextables.tasks.spans.schema import PredictedSpan, ranked, span_rows
from lextables.tasks.spans.segment_features import (
    Vocabularies,
    feature_matrices,
    learn_vocabularies,
)
from lextables.tasks.spans.segment_model import SegmentModel
from lextables.tasks.spans.segments import Segments, Span

WEIGHTS = "linear.npz"
# Candidates to which the second model gives a lower logit are dropped.  Less than 0.3 %
# of the correct candidates are among them.
LEAST = -6.0
MIN_PART_SHARE = 0.1  # of a category's answers, for a kind of part to become candidates

# {number of a contract: (number of a category, position) of each answer}.
Answers = Mapping[int, Sequence[tuple[int, Span]]]
# The candidates of a category and their logits.
ScoredCandidates = tuple[Candidates, np.ndarray]


@dataclass(frozen=True)
class SpanModel:
    """The three trained models."""

    categories: tuple[str, ...]
    """Names; the other tuples have an item for each."""
    relaxed: tuple[bool, ...]
    """Whether a candidate that contains an answer is also correct."""
    parts: tuple[tuple[str, ...], ...]
    """Kinds of parts of segments that are candidates (`candidates.PARTS`)."""
    first: SegmentModel
    """The first model, for all categories."""
    second: tuple[Linear, ...]
    """The models that score candidates, by `candidates.candidate_features` and
    `candidates.part_words`.
    """
    third: Trees
    """The model that reads `third_features`, for all categories."""


@dataclass(frozen=True)
class Fitted:
    """A trained model, and the candidates with their out-of-fold logits.

    The candidates are as `predict` returns them for new contracts; there are none if
    the settings do not ask for them.
    """

    model: SpanModel
    out_of_fold: list[ScoredCandidates]


def fit(
    texts: Sequence[str],
    answers: Answers,
    categories: Sequence[str],
    settings: LinearRun,
    vectors: np.ndarray | None = None,
) -> Fitted:
    """Train the three models.

    ``answers`` have the numbers of ``texts`` and ``categories``.  In categories whose
    name contains ``settings.relaxed``, a candidate is also correct if it contains an
    answer.  ``vectors`` (segments, dimensions) are needed if the features use them.
    """
    # The first model scores segments.
    segments = Segments.from_texts(texts)
    shuffled = np.random.default_rng(0).permutation(len(texts)) % settings.folds
    folds = [shuffled == number for number in range(settings.folds)]
    labels = segment_model.answer_labels(segments, answers, len(categories))
    first, logits = _first(segments, labels, folds, settings, vectors)

    # The second model of each category scores candidates of its most probable segments.
    relaxed = []
    for name in categories:
        relaxed.append(settings.relaxed is not None and settings.relaxed in name)
    parts = []
    candidates = []
    matched = []
    for category, relaxes in enumerate(relaxed):
        golds = Golds(segments, answers, category, relaxes)
        kinds = golds.parts()
        category_candidates = spans.candidates(
            segments, logits[:, category], settings.units, kinds, not relaxes
        )
        parts.append(kinds)
        candidates.append(category_candidates)
        matched.append(golds.matched(category_candidates))
    training = _second_rows(segments, candidates, logits, matched, parts)
    # Categories answered by whole segments are similar, and some have few answers:
    # they share a prior model.
    similar = set()
    for category, (relaxes, kinds) in enumerate(zip(relaxed, parts, strict=True)):
        if not relaxes and not kinds:
            similar.add(category)
    second, scores = _second(training, candidates, folds, similar, settings)

    # The third model learns from the candidates that the second finds probable.
    new_rows = []
    used_rows = []
    for category, score in enumerate(scores):
        is_likely = score > LEAST
        likely = candidates[category].take(is_likely)
        matches = list(compress(matched[category], is_likely))
        new, used = spans.new_answers(likely, score[is_likely], matches)
        candidates[category] = likely
        scores[category] = score[is_likely]
        new_rows.append(new)
        used_rows.append(used)
    is_new = np.concatenate(new_rows)
    is_used = np.concatenate(used_rows)
    features = third_features(candidates, scores, segments, logits)
    third = trees.fit(features[is_used], is_new[is_used])

    out_of_fold = []
    if settings.out_of_fold:
        contract = np.concatenate([each.contract for each in candidates])
        held = [fold[contract] for fold in folds]
        held_logits = _out_of_fold_logits(features, is_new, is_used, held)
        out_of_fold = _by_category(candidates, held_logits)
    model = SpanModel(
        tuple(categories), tuple(relaxed), tuple(parts), first, second, third
    )
    return Fitted(model, out_of_fold)


def _first(
    segments: Segments,
    labels: np.ndarray,
    folds: Sequence[np.ndarray],
    settings: LinearRun,
    vectors: np.ndarray | None,
) -> tuple[SegmentModel, np.ndarray]:
    """Return the first model, and its out-of-fold logits, float32 (segments,
    categories).

    ``folds`` have for each fold which contracts are in it, bool (contracts,);
    ``labels`` are bool (segments, categories).
    """
    vocabularies = None
    if settings.features != "vectors":
        vocabularies = learn_vocabularies(segments)
    matrices = feature_matrices(segments, vocabularies, vectors)
    logits = np.zeros(labels.shape, dtype=np.float32)
    for fold in folds:
        in_fold = fold[segments.contract]
        model = segment_model.fit(matrices, labels, ~in_fold, vocabularies, settings)
        logits[in_fold] = model.logits([matrix[in_fold] for matrix in matrices])
    everything = np.ones(len(labels), dtype=bool)
    model = segment_model.fit(matrices, labels, everything, vocabularies, settings)
    return model, logits


def third_features(
    candidates: Sequence[Candidates],
    scores: Sequence[np.ndarray],
    segments: Segments,
    logits: np.ndarray,
) -> np.ndarray:
    """Return the features of all candidates, float32 (candidates, features).

    The candidates are in the order of the categories.  ``scores`` are the second
    model's logits of each category, ``logits`` (segments, categories) the first
    model's.
    """
    features = []
    for category, score in enumerate(scores):
        category_candidates = candidates[category]
        category_logits = logits[:, category]
        columns = [
            spans.candidate_features(category_candidates, segments, category_logits),
            spans.overlap_features(category_candidates, score),
            spans.context_features(category_candidates, logits, category),
            spans.text_features(category_candidates, segments),
        ]
        features.append(np.hstack(columns).astype(np.float32))
    return np.concatenate(features)


def _out_of_fold_logits(
    features: np.ndarray,
    is_new: np.ndarray,
    is_used: np.ndarray,
    folds: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the third model's out-of-fold logit of each candidate, float64.

    ``folds`` state for each fold which candidates are in it; only the candidates for
    which ``is_used`` is true are trained on.
    """
    logits = np.zeros(len(features))
    for held in folds:
        rows = is_used & ~held
        model = trees.fit(features[rows], is_new[rows])
        logits[held] = model.logits(features[held])
    return logits


def _by_category(
    candidates: Sequence[Candidates], logits: np.ndarray
) -> list[ScoredCandidates]:
    """Return the candidates of each category with their part of ``logits``."""
    # The end of each category's part, except that of the last one.
    *bounds, _ = np.cumsum([len(own.contract) for own in candidates])
    return list(zip(candidates, np.split(logits, bounds), strict=True))


@dataclass(frozen=True)
class _SecondRows:
    """The training data of the second model of one category, a row per candidate."""

    features: np.ndarray
    """float64 (candidates, features)."""
    words: csr_matrix | None
    """Hashed words in and beside parts; None if the category has no parts."""
    correct: np.ndarray
    """bool (candidates,)."""

    def inputs(self, rows: np.ndarray) -> np.ndarray | csr_matrix:
        """Return the features and words of these rows (bool or numbers)."""
        if self.words is None:
            return self.features[rows]
        columns = [csr_matrix(self.features[rows]), self.words[rows]]
        return csr_matrix(hstack(columns))


def _second_rows(
    segments: Segments,
    candidates: Sequence[Candidates],
    logits: np.ndarray,
    matched: Sequence[Sequence[frozenset[int]]],
    parts: Sequence[Sequence[str]],
) -> list[_SecondRows]:
    """Return the rows of each category.

    ``matched`` are the answers that each candidate finds (`Golds.matched`).
    """
    rows = []
    for category, category_candidates in enumerate(candidates):
        features = spans.candidate_features(
            category_candidates, segments, logits[:, category]
        )
        words = None
        if parts[category]:
            words = spans.part_words(category_candidates, segments)
        correct = np.array(list(map(bool, matched[category])), dtype=bool)
        rows.append(_SecondRows(features, words, correct))
    return rows


def _second(
    training: Sequence[_SecondRows],
    candidates: Sequence[Candidates],
    folds: Sequence[np.ndarray],
    similar: Set[int],
    settings: LinearSettings,
) -> tuple[tuple[Linear, ...], list[np.ndarray]]:
    """Return the second models, and the out-of-fold logits of each category's
    candidates.

    ``folds`` are as in `_first`; the other sequences have an item for each category.
    """
    scores = [np.zeros(len(own.contract)) for own in candidates]
    for fold in folds:
        rows = [~fold[own.contract] for own in candidates]
        models = _fit_categories(training, rows, similar, settings)
        for category, model in enumerate(models):
            held = ~rows[category]
            logits = model.logits(training[category].inputs(held))
            scores[category][held] = logits[:, 0]
    everything = [np.ones(len(own.contract), dtype=bool) for own in candidates]
    return _fit_categories(training, everything, similar, settings), scores


# With several threads sums differ in the last bits, and such small problems are slower
# on busy cores.
@threadpool_limits.wrap(limits=1)
def _fit_categories(
    training: Sequence[_SecondRows],
    rows: Sequence[np.ndarray],
    similar: Set[int],
    settings: LinearSettings,
) -> tuple[Linear, ...]:
    """Return a model for each category, trained on its ``rows`` (bool).

    The models of the ``similar`` categories stay near one that is trained on all of
    them.
    """
    inputs = [
        own.features[category_rows]
        for own, category_rows in zip(training, rows, strict=True)
    ]
    targets = [
        own.correct[category_rows]
        for own, category_rows in zip(training, rows, strict=True)
    ]
    if similar:
        together = sorted(similar)
        shared = linear.fit_few(
            np.concatenate([inputs[category] for category in together]),
            np.concatenate([targets[category] for category in together]),
            penalty=settings.penalty,
        )
    models = []
    for category, own in enumerate(training):
        features = inputs[category]
        labels = targets[category]
        if category in similar:
            model = linear.fit_near(shared, features, labels, penalty=settings.near)
            models.append(model)
            continue
        words = None if own.words is None else own.words[rows[category]]
        penalty = settings.penalty
        model = linear.fit_few(features, labels, penalty=penalty, words=words)
        models.append(model)
    return tuple(models)


class GoldSpan(NamedTuple):
    """An answer: its text, its text with the next character, and its words."""

    text: str
    with_next: str
    words: frozenset[str]

    def is_similar(self, text: str) -> bool:
        """Whether the evaluator accepts ``text`` as this answer."""
        return similar_words(paper_words(text), self.words)


class Golds:
    """The answers of one category, and the rule by which a candidate matches one."""

    def __init__(
        self, segments: Segments, answers: Answers, category: int, relaxed: bool
    ) -> None:
        """Collect the answers of ``category`` by contract."""
        self.segments = segments
        self.relaxed = relaxed
        self.golds: dict[int, list[GoldSpan]] = defaultdict(list)
        for contract, places in answers.items():
            text = segments.contract_texts[contract]
            for category_of_answer, (start, end) in places:
                if category_of_answer == category:
                    gold = text[start:end]
                    with_next = text[start : end + 1]
                    words = paper_words(gold)
                    self.golds[contract].append(GoldSpan(gold, with_next, words))

    def matched(self, candidates: Candidates) -> list[frozenset[int]]:
        """Return the numbers of the answers that each candidate matches.

        The rule is that of `metrics.spans.paper_matches`, relaxed for the questions of
        this category only.
        """
        matched = []
        texts = candidates.texts(self.segments)
        for contract, text in zip(candidates.contract.tolist(), texts, strict=True):
            numbers = set()
            golds = self.golds.get(contract)
            if golds:
                words = paper_words(text)
                for number, gold in enumerate(golds):
                    contains = self.relaxed and gold.text in text
                    if contains or similar_words(words, gold.words):
                        numbers.add(number)
            matched.append(frozenset(numbers))
        return matched

    def parts(self) -> tuple[str, ...]:
        """Return the kinds of parts that more than `MIN_PART_SHARE` of the answers are.

        There are none with the relaxed rule, for which a whole segment is as good.
        """
        if self.relaxed:
            return ()
        counts: Counter[str | None] = Counter()
        for golds in self.golds.values():
            counts.update(map(_kind_of_part, golds))
        least = MIN_PART_SHARE * counts.total()
        return tuple(name for name in spans.PARTS if counts[name] > least)


def _kind_of_part(gold: GoldSpan) -> str | None:
    """Return the first kind of which the evaluator accepts a part of this answer."""
    for name, find_parts in spans.PARTS.items():
        for start, end in find_parts(gold.with_next):
            if gold.is_similar(gold.with_next[start:end]):
                return name
    return None


def predict(
    model: SpanModel,
    texts: Sequence[str],
    likely: int,
    vectors: np.ndarray | None = None,
) -> list[ScoredCandidates]:
    """Return the candidates of each category, and their logits.

    They come from the ``likely`` best segments of a contract.  ``vectors`` (segments,
    dimensions) are needed if the model was trained with them.
    """
    segments = Segments.from_texts(texts)
    matrices = feature_matrices(segments, model.first.vocabularies, vectors)
    logits = model.first.logits(matrices)
    candidates = []
    scores = []
    for category, second in enumerate(model.second):
        parts = model.parts[category]
        relaxed = model.relaxed[category]
        category_logits = logits[:, category]
        category_candidates = spans.candidates(
            segments, category_logits, likely, parts, not relaxed
        )
        features = spans.candidate_features(
            category_candidates, segments, category_logits
        )
        words = spans.part_words(category_candidates, segments) if parts else None
        rows = _SecondRows(features, words, correct=np.zeros(0, dtype=bool))
        every_row = np.arange(len(features))
        score = second.logits(rows.inputs(every_row))[:, 0]
        is_likely = score > LEAST
        candidates.append(category_candidates.take(is_likely))
        scores.append(score[is_likely])
    features = third_features(candidates, scores, segments, logits)
    return _by_category(candidates, model.third.logits(features))


def train(
    texts: Mapping[str, str],
    examples: Sequence[Row],
    settings: LinearRun,
    vectors: np.ndarray | None = None,
) -> tuple[SpanModel, list[Row], dict[str, int]]:
    """Return the model trained on contracts, its out-of-fold rows, and counts.

    ``texts`` maps contracts to texts; ``examples`` are the rows of `squad.EXAMPLES` of
    these contracts.  ``vectors`` are as in `spans_of`.  The out-of-fold rows
    (`schema.NBEST`) are empty unless the settings ask for them.
    """
    names = sorted(texts)
    number_of = {name: number for number, name in enumerate(names)}
    categories = sorted({row["category"] for row in examples})
    answers: dict[int, list[tuple[int, Span]]] = defaultdict(list)
    for row in examples:
        if row["start"] >= 0:
            category = categories.index(row["category"])
            span = (row["start"], row["end"])
            answers[number_of[row["contract_id"]]].append((category, span))
    ordered = [texts[name] for name in names]
    fitted = fit(ordered, answers, categories, settings, vectors)
    asked = {row["question_id"]: row for row in examples}.values()
    rows: list[Row] = []
    if fitted.out_of_fold:
        rows += _rows(categories, fitted.out_of_fold, texts, asked, settings.n_best)
    model = fitted.model
    sizes = [each.weights.size for each in (*model.first.linear, *model.second)]
    counts = {
        "contracts": len(names),
        "answers": sum(map(len, answers.values())),
        "weights": sum(sizes) + model.third.value.size,
    }
    return model, rows, counts


def spans_of(
    model: SpanModel,
    texts: Mapping[str, str],
    asked: Sequence[Row],
    settings: LinearRun,
    vectors: np.ndarray | None = None,
) -> Iterator[Row]:
    """Yield the rows of `schema.NBEST` for the questions ``asked``, sorted by id.

    ``texts`` maps contract ids to texts; ``vectors`` are those of their segments,
    contracts sorted by id, if the model uses vectors.

    The start logit is the candidate's logit and the end logit is 0.  Each candidate has
    a probability of its own; over a question they need not sum to one.  The empty
    prediction has one minus the probability of the best span.  Raises `BadInput` for a
    category without training examples.
    """
    categories = {row["category"] for row in asked}
    new = sorted(categories - set(model.categories))
    if new:
        what = f"the model was not trained on the category {new[0]!r}"
        raise BadInput(what, where="questions", do="train it again")
    ordered = [texts[name] for name in sorted(texts)]
    predicted = predict(model, ordered, settings.units, vectors)
    yield from _rows(model.categories, predicted, texts, asked, settings.n_best)


def _rows(
    categories: Sequence[str],
    predicted: Sequence[ScoredCandidates],
    texts: Mapping[str, str],
    asked: Iterable[Row],
    n_best: int,
) -> Iterator[Row]:
    """Yield the rows of `spans_of` from the candidates of each category."""
    number_of = {name: number for number, name in enumerate(sorted(texts))}
    by_category = dict(zip(categories, predicted, strict=True))
    for question in sorted(asked, key=itemgetter("question_id")):
        contract = question["contract_id"]
        candidates, logits = by_category[question["category"]]
        is_own = candidates.contract == number_of[contract]
        own = candidates.take(is_own)
        own_logits = logits[is_own]
        columns = (own_logits.tolist(), own.start.tolist(), own.end.tolist())
        places = list(zip(*columns, strict=True))
        yield from nbest(question["question_id"], texts[contract], places, n_best)


def nbest(
    question_id: str, text: str, places: Sequence[tuple[float, int, int]], n_best: int
) -> Iterator[Row]:
    """Yield the rows of a question, best first.

    They are ``n_best`` spans with different texts, and the empty one.  ``places`` are
    (logit, start, end).
    """
    best = max((logit for logit, _, _ in places), default=linear.NEVER)
    spans = []
    for logit, start, end in places:
        spans.append(_predicted(text[start:end], logit, start, end))
    empty = _predicted("", -best, -1, -1)
    yield from span_rows(question_id, ranked(spans, empty, n_best))


def _predicted(words: str, logit: float, start: int, end: int) -> PredictedSpan:
    """Return the span with these words, a logit and its probability."""
    probability = float(probabilities(np.array(logit)))
    return PredictedSpan(
        released_text=words,
        text=words,
        start=start,
        end=end,
        start_logit=logit,
        end_logit=0.0,
        probability=probability,
    )


def save(model: SpanModel, path: str | Path) -> None:
    """Write the models to ``path`` (.npz) as arrays and strings, without pickles."""
    first = model.first
    arrays = {"relaxed": np.array(model.relaxed), "share": np.array(first.share)}
    names = {
        "categories": model.categories,
        "parts": [" ".join(parts) for parts in model.parts],
        "words": (),
        "beside": (),
    }
    if first.vocabularies:
        words, neighbour_words = first.vocabularies
        arrays["idf"] = words.idf
        arrays["idf_beside"] = neighbour_words.idf
        names["words"] = words.terms
        names["beside"] = neighbour_words.terms
    for name, array in vars(model.third).items():
        arrays[f"third_{name}"] = array
    for stage, models in (("units", first.linear), ("second", model.second)):
        for number, each in enumerate(models):
            arrays[f"{stage}_weights_{number}"] = each.weights
            arrays[f"{stage}_intercept_{number}"] = each.intercept
    linear.save(arrays, names, path)


def load(path: str | Path) -> SpanModel:
    """Read models written by `save`."""
    arrays, names = linear.load(path, ("categories", "parts", "words", "beside"))

    vocabularies = None
    if "idf" in arrays:
        words = Vocabulary(names["words"], arrays["idf"], 2)
        neighbour_words = Vocabulary(names["beside"], arrays["idf_beside"], 1)
        vocabularies = Vocabularies(words, neighbour_words)
    third = {field.name: arrays[f"third_{field.name}"] for field in fields(Trees)}
    first_models = _linear_models(arrays, "units")
    return SpanModel(
        names["categories"],
        tuple(arrays["relaxed"].tolist()),
        tuple(tuple(line.split()) for line in names["parts"]),
        SegmentModel(vocabularies, first_models, float(arrays["share"])),
        _linear_models(arrays, "second"),
        Trees(**third),
    )


def _linear_models(arrays: Mapping[str, np.ndarray], stage: str) -> tuple[Linear, ...]:
    """Return the linear models of a stage, in the order in which `save` wrote them."""
    models: list[Linear] = []
    while f"{stage}_weights_{len(models)}" in arrays:
        number = len(models)
        weights = arrays[f"{stage}_weights_{number}"]
        intercept = arrays[f"{stage}_intercept_{number}"]
        models.append(Linear(weights, intercept))
    return tuple(models)
