"""Baselines for span extraction: linear models and trees.  Training takes minutes on a CPU.

Three stacked models:

1. `units`: probability that a text unit (sentence or line) answers a category.
2. `candidates`: probability that a candidate span is a correct answer under the evaluator's matching rule.
3. `models.trees`: probability that a candidate is correct and not already covered by a higher-ranked one.
   One model for all categories.  It sees the features of the second, the candidates that are ranked higher,
   the other categories' scores and the form of the text.

Each model is trained on out-of-fold predictions of the previous one, which keeps probabilities calibrated on
unseen contracts and comparable across categories.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import partial
from itertools import compress, pairwise
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack
from threadpoolctl import threadpool_limits

from lextables.metrics.spans import paper_words
from lextables.metrics.spans import similar as similar_words
from lextables.models import linear, trees
from lextables.models.linear import Linear, Vocabulary, probabilities
from lextables.models.trees import Trees
from lextables.pipeline.dataset import Row, read, write
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import candidates as spans
from lextables.tasks.spans import units as unit_scores
from lextables.tasks.spans.candidates import Candidates
from lextables.tasks.spans.schema import NBEST
from lextables.tasks.spans.squad import part
from lextables.tasks.spans.units import Span, UnitModel, Units, read_vectors, units_of

WEIGHTS = "linear.npz"
OUT_OF_FOLD = "out_of_fold.parquet"
ALL_TRAINING_DATA = 100  # per cent of the training contracts
LEAST = -6.0  # the second model's logit; candidates below it are dropped (under 0.3 % of the correct ones)
MIN_PART_SHARE = 0.1  # of a category's answers, for a kind of part to become candidates

Answers = Mapping[int, Sequence[tuple[int, Span]]]


@dataclass(frozen=True)
class SpanModel:
    """The trained models, with the kinds of ``parts`` and the matching rule (``relaxed``) of each category.

    For each category, ``second`` has weights for `candidates.candidate_features` and `candidates.part_words`;
    ``third`` reads `third_features`.
    """

    categories: tuple[str, ...]
    relaxed: tuple[bool, ...]
    parts: tuple[tuple[str, ...], ...]
    units: UnitModel
    second: tuple[Linear, ...]
    third: Trees


def fit(
    texts: Sequence[str],
    answers: Answers,
    categories: Sequence[str],
    relaxed: str | None,
    settings: Mapping[str, Any],
    threads: int = 1,
    vectors: np.ndarray | None = None,
    out_of_fold: list[tuple[Candidates, np.ndarray]] | None = None,
) -> SpanModel:
    """Train the three models.

    ``answers`` maps a contract to the category and position of each answer.  In categories whose name
    contains ``relaxed``, a candidate is also correct if it contains an answer.  ``settings``: ``features``
    and the fields of `plan.LinearSettings`.  ``vectors`` (units, dimensions) are needed if the features use
    them.  If ``out_of_fold`` is a list, the candidates of each category and their out-of-fold logits are
    appended, as `predict` returns them for new contracts.
    """
    relaxed_flags = tuple(
        bool(relaxed) and relaxed in category for category in categories
    )
    units = units_of(texts)
    folds = [
        np.random.default_rng(0).permutation(len(texts)) % settings["folds"] == number
        for number in range(settings["folds"])
    ]
    words = (
        None if settings["features"] == "vectors" else unit_scores.vocabularies(units)
    )
    views = unit_scores.views(units, words, vectors)
    is_answer = unit_scores.answering(units, answers, len(categories))
    options = {name: settings[name] for name in ("alpha", "epochs", "dense")} | {
        "threads": threads
    }
    logits = np.zeros(is_answer.shape, dtype=np.float32)
    for fold in folds:
        out = fold[units.contract]
        models = unit_scores.fit(views, is_answer, ~out, **options)
        logits[out] = unit_scores.logits(
            models, [view[out] for view in views], settings["share"]
        )
    everything = np.ones(len(is_answer), dtype=bool)
    unit_model = UnitModel(
        words,
        unit_scores.fit(views, is_answer, everything, **options),
        settings["share"],
    )
    golds = [
        Golds(units, answers, category, relaxes)
        for category, relaxes in enumerate(relaxed_flags)
    ]
    parts = tuple(gold.parts() for gold in golds)
    candidates = [
        spans.candidates(
            units, logits[:, category], settings["units"], parts[category], not relaxes
        )
        for category, relaxes in enumerate(relaxed_flags)
    ]
    matched = [gold.matched(own) for gold, own in zip(golds, candidates, strict=True)]
    # Categories answered by whole units are similar, and some have few answers: they share a prior model.
    similar = {
        at for at, relaxes in enumerate(relaxed_flags) if not relaxes and not parts[at]
    }
    fit_categories = partial(
        _fit_categories,
        similar=similar,
        penalty=settings["penalty"],
        near=settings["near"],
    )
    has_parts = [bool(each) for each in parts]
    second, scores = _second(
        units, candidates, logits, matched, has_parts, folds, fit_categories
    )
    kept = [score > LEAST for score in scores]
    candidates = [own.take(rows) for own, rows in zip(candidates, kept, strict=True)]
    scores = [score[rows] for score, rows in zip(scores, kept, strict=True)]
    features = third_features(candidates, scores, units, logits)
    new = [
        spans.new_answers(own, score, list(compress(each, rows)))
        for own, score, each, rows in zip(
            candidates, scores, matched, kept, strict=True
        )
    ]
    is_new, used = (np.concatenate([each[at] for each in new]) for at in (0, 1))
    third = trees.fit(features[used], is_new[used])
    if out_of_fold is not None:
        contract = np.concatenate([own.contract for own in candidates])
        held = np.zeros(len(features))
        for fold in folds:
            out = fold[contract]
            held[out] = trees.fit(features[used & ~out], is_new[used & ~out]).logits(
                features[out]
            )
        out_of_fold += _by_category(candidates, held)
    return SpanModel(tuple(categories), relaxed_flags, parts, unit_model, second, third)


def third_features(
    candidates: Sequence[Candidates],
    scores: Sequence[np.ndarray],
    units: Units,
    logits: np.ndarray,
) -> np.ndarray:
    """Return the features of all candidates, category by category, float32 (candidates, features).

    ``scores``: the second model's logits of each category; ``logits`` (units, categories): the first model's.
    """
    each = [
        np.hstack(
            [
                spans.candidate_features(own, units, logits[:, category]),
                spans.overlap_features(own, score),
                spans.context_features(own, logits, category),
                spans.text_features(own, units),
            ]
        ).astype(np.float32)
        for category, (own, score) in enumerate(zip(candidates, scores, strict=True))
    ]
    return np.concatenate(each)


def _by_category(
    candidates: Sequence[Candidates], logits: np.ndarray
) -> list[tuple[Candidates, np.ndarray]]:
    """Return the candidates of each category with their part of ``logits``, category by category."""
    ends = np.cumsum([len(own.contract) for own in candidates])
    return list(zip(candidates, np.split(logits, ends[:-1]), strict=True))


def _second(
    units: Units,
    candidates: Sequence[Candidates],
    logits: np.ndarray,
    matched: Sequence[Sequence[frozenset[int]]],
    has_parts: Sequence[bool],
    folds: Sequence[np.ndarray],
    fit_categories: Callable[..., tuple[Linear, ...]],
) -> tuple[tuple[Linear, ...], list[np.ndarray]]:
    """Return the second models and the out-of-fold logit of each candidate."""
    features = [
        spans.candidate_features(own, units, logits[:, at])
        for at, own in enumerate(candidates)
    ]
    words = [
        spans.part_words(own, units) if has else None
        for own, has in zip(candidates, has_parts, strict=True)
    ]
    correct = [
        np.array([bool(answers) for answers in each], dtype=bool) for each in matched
    ]
    scores = [np.zeros(len(own.contract)) for own in candidates]
    for fold in folds:
        training = [~fold[own.contract] for own in candidates]
        for at, model in enumerate(fit_categories(features, correct, words, training)):
            out = ~training[at]
            scores[at][out] = model.logits(_with_words(features[at], words[at], out))[
                :, 0
            ]
    everything = [np.ones(len(own.contract), dtype=bool) for own in candidates]
    return fit_categories(features, correct, words, everything), scores


# With several threads sums differ in the last bits, and such small problems are slower on busy cores.
@threadpool_limits.wrap(limits=1)
def _fit_categories(
    features: Sequence[np.ndarray],
    correct: Sequence[np.ndarray],
    words: Sequence[csr_matrix | None],
    rows: Sequence[np.ndarray],
    *,
    similar: Set[int],
    penalty: float,
    near: float,
) -> tuple[Linear, ...]:
    """Train a model for each category on ``rows``; the ``similar`` ones stay near a shared model."""
    inputs = [each[own] for each, own in zip(features, rows, strict=True)]
    targets = [each[own] for each, own in zip(correct, rows, strict=True)]
    if similar:
        together = [
            np.concatenate([each[at] for at in sorted(similar)])
            for each in (inputs, targets)
        ]
        shared = linear.fit_few(*together, penalty=penalty)
    return tuple(
        linear.fit_near(shared, inputs[at], targets[at], penalty=near)
        if at in similar
        else linear.fit_few(
            inputs[at],
            targets[at],
            penalty=penalty,
            words=None if words[at] is None else words[at][rows[at]],
        )
        for at in range(len(inputs))
    )


def _with_words(
    features: np.ndarray, words: csr_matrix | None, rows: np.ndarray
) -> np.ndarray | csr_matrix:
    """Return these rows of candidate features, with the words of parts if there are any."""
    if words is None:
        return features[rows]
    return csr_matrix(hstack([csr_matrix(features[rows]), words[rows]]))


class Golds:
    """The answers of one category, and the rule by which a candidate matches one."""

    def __init__(
        self, units: Units, answers: Answers, category: int, relaxed: bool
    ) -> None:
        self.units, self.relaxed = units, relaxed
        self.places = {
            contract: [span for its_category, span in each if its_category == category]
            for contract, each in answers.items()
        }
        self.texts = {
            contract: [units.texts[contract][start:end] for start, end in places]
            for contract, places in self.places.items()
        }
        self.words = {
            contract: word_sets(texts) for contract, texts in self.texts.items()
        }

    def matched(self, candidates: Candidates) -> list[frozenset[int]]:
        """Return the numbers of the answers each candidate matches (as `metrics.spans.paper_matches`)."""
        texts = candidates.texts(self.units)
        rows = [
            at
            for at, contract in enumerate(candidates.contract.tolist())
            if self.places.get(contract)
        ]
        matched: list[frozenset[int]] = [frozenset()] * len(texts)
        for at, words in zip(rows, word_sets([texts[at] for at in rows]), strict=True):
            contract = int(candidates.contract[at])
            golds = enumerate(
                zip(self.words[contract], self.texts[contract], strict=True)
            )
            matched[at] = frozenset(
                number
                for number, (gold, text) in golds
                if similar_words(words, gold) or (self.relaxed and text in texts[at])
            )
        return matched

    def parts(self) -> tuple[str, ...]:
        """Return the kinds of parts that make up more than `MIN_PART_SHARE` of the answers."""
        if self.relaxed:
            return ()
        counts: Counter[str] = Counter()
        for contract, places in self.places.items():
            text = self.units.texts[contract]
            for gold, (start, end) in zip(self.words[contract], places, strict=True):
                near = text[start : end + 1]
                for name, find_parts in spans.PARTS.items():
                    inside = word_sets(
                        [near[first:last] for first, last in find_parts(near)]
                    )
                    if any(similar_words(words, gold) for words in inside):
                        counts[name] += 1
                        break  # count an answer for its first kind only
        total = sum(map(len, self.places.values()))
        return tuple(
            name for name in spans.PARTS if counts[name] > MIN_PART_SHARE * total
        )


def word_sets(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return the set of words of each text, as the released evaluator splits it."""
    return [paper_words(text) for text in texts]


def predict(
    model: SpanModel,
    texts: Sequence[str],
    likely: int,
    vectors: np.ndarray | None = None,
) -> list[tuple[Candidates, np.ndarray]]:
    """Return the candidates of each category, from the ``likely`` best units of a contract, and their logits.

    ``vectors`` (units, dimensions) are needed if the model was trained with them.
    """
    units = units_of(texts)
    logits = model.units.logits(units, vectors)
    kept, scores = [], []
    models = zip(model.relaxed, model.parts, model.second, strict=True)
    for category, (relaxed, parts, second) in enumerate(models):
        own = spans.candidates(units, logits[:, category], likely, parts, not relaxed)
        features = spans.candidate_features(own, units, logits[:, category])
        words = spans.part_words(own, units) if parts else None
        score = second.logits(
            _with_words(features, words, np.ones(len(features), dtype=bool))
        )[:, 0]
        kept.append(own.take(score > LEAST))
        scores.append(score[score > LEAST])
    return _by_category(
        kept, model.third.logits(third_features(kept, scores, units, logits))
    )


# The files of a run.


def train(
    contracts: Path,
    examples: Path,
    settings: Mapping[str, Any],
    threads: int,
    output: str | Path,
    vectors: str | Path | None = None,
) -> dict[str, Any]:
    """Train on ``settings["percent"]`` of the training contracts, save to ``output``, and return the record.

    Input tables: contracts, `squad.EXAMPLES` and, if the features use vectors, `units.VECTORS`.  If
    ``settings["out_of_fold"]``, the out-of-fold predictions for the training contracts (`schema.NBEST`) are
    saved too.  Raises `BadInput` if there is no training example.
    """
    texts = {
        row["contract_id"]: row["text"]
        for row in read(contracts)
        if row["split"] != "test"
    }
    if settings["percent"] < ALL_TRAINING_DATA:
        texts = {name: texts[name] for name in part(texts, settings["percent"], seed=0)}
    rows = [row for row in read(examples) if row["contract_id"] in texts]
    if not rows:
        raise BadInput(
            "no example of a training contract",
            where=str(examples),
            do="check the split",
        )
    names, categories = sorted(texts), sorted({row["category"] for row in rows})
    place, number = (
        {name: at for at, name in enumerate(each)} for each in (names, categories)
    )
    answers: dict[int, list[tuple[int, Span]]] = defaultdict(list)
    for row in rows:
        if row["start"] >= 0:
            span = (row["start"], row["end"])
            answers[place[row["contract_id"]]].append((number[row["category"]], span))
    unit_vectors = read_vectors(vectors, names) if vectors else None
    ordered = [texts[name] for name in names]
    held: list[tuple[Candidates, np.ndarray]] | None = (
        [] if settings.get("out_of_fold") else None
    )
    model = fit(
        ordered,
        answers,
        categories,
        settings["relaxed"],
        settings,
        threads,
        unit_vectors,
        held,
    )
    save(model, Path(output) / WEIGHTS)
    if held:
        asked = {row["question_id"]: row for row in rows}.values()
        write(
            NBEST,
            _rows(categories, held, texts, asked, settings["n_best"]),
            Path(output) / OUT_OF_FOLD,
        )
    weights = [
        *(each.weights for each in model.units.linear + model.second),
        model.third.value,
    ]
    return {
        "contracts": len(names),
        "answers": sum(map(len, answers.values())),
        "weights": sum(each.size for each in weights),
    }


def read_contracts(
    contracts: Path,
    questions: Path,
    settings: Mapping[str, Any],
    weights: str | Path,
    output: str | Path,
    vectors: str | Path | None = None,
) -> None:
    """Write the best spans for each question about the test contracts (`schema.NBEST`).

    The start logit is the candidate's logit and the end logit is 0.  Each candidate has a probability of its
    own, so those of a question need not sum to one.  The empty prediction has one minus the probability of
    the best span.  Raises `BadInput` for a category without training examples.
    """
    model = load(Path(weights) / WEIGHTS)
    asked = [row for row in read(questions) if row["split"] == "test"]
    if new := sorted({row["category"] for row in asked} - set(model.categories)):
        what = f"the model was not trained on the category {new[0]!r}"
        raise BadInput(what, where=str(questions), do="train it again")
    texts = {
        row["contract_id"]: row["text"]
        for row in read(contracts)
        if row["split"] == "test"
    }
    unit_vectors = read_vectors(vectors, sorted(texts)) if vectors else None
    write(NBEST, spans_of(model, texts, asked, settings, unit_vectors), output)


def spans_of(
    model: SpanModel,
    texts: Mapping[str, str],
    asked: Iterable[Row],
    settings: Mapping[str, Any],
    vectors: np.ndarray | None = None,
) -> Iterator[Row]:
    """Yield the rows of `schema.NBEST` for the questions ``asked``, sorted by question id.

    ``texts`` maps contract ids to texts; ``vectors`` are those of their units, contracts sorted by id, if the
    model uses vectors.  ``settings``: ``units``, ``n_best`` (`plan.LinearSettings`).
    """
    predicted = predict(
        model, [texts[name] for name in sorted(texts)], settings["units"], vectors
    )
    yield from _rows(model.categories, predicted, texts, asked, settings["n_best"])


def _rows(
    categories: Sequence[str],
    predicted: Iterable[tuple[Candidates, np.ndarray]],
    texts: Mapping[str, str],
    asked: Iterable[Row],
    n_best: int,
) -> Iterator[Row]:
    """Yield the rows of `spans_of` from the candidates of each category and their logits."""
    names = sorted(texts)
    scored = {
        (names[contract], category): each
        for category, (own, logits) in zip(categories, predicted, strict=True)
        for contract, each in by_contract(own, logits, len(names))
    }
    for question in sorted(asked, key=itemgetter("question_id")):
        contract = question["contract_id"]
        of_question = scored[contract, question["category"]]
        yield from nbest(question["question_id"], texts[contract], of_question, n_best)


Scored = list[tuple[float, int, int]]


def by_contract(
    candidates: Candidates, logits: np.ndarray, contracts: int
) -> Iterator[tuple[int, Scored]]:
    """Yield (contract, [(logit, start, end) of its candidates])."""
    bounds = np.searchsorted(candidates.contract, np.arange(contracts + 1))
    for contract, (start, end) in enumerate(pairwise(bounds.tolist())):
        own = (
            column[start:end].tolist()
            for column in (logits, candidates.start, candidates.end)
        )
        yield contract, list(zip(*own, strict=True))


def nbest(
    question_id: str, text: str, scored: Iterable[tuple[float, int, int]], n_best: int
) -> Iterator[Row]:
    """Yield the rows of a question, best first: ``n_best`` spans with different texts, and the empty one."""
    best: dict[str, tuple[float, int, int]] = {}
    for logit, start, end in sorted(scored, key=lambda row: (-row[0], row[1], row[2])):
        best.setdefault(text[start:end], (logit, start, end))
    spans_ = [(*place, words) for words, place in list(best.items())[:n_best]]
    empty = (-spans_[0][0] if spans_ else -linear.NEVER, -1, -1, "")
    for rank, (logit, start, end, words) in enumerate(
        sorted([*spans_, empty], key=lambda row: -row[0])
    ):
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
    arrays |= {f"third_{name}": array for name, array in vars(model.third).items()}
    stages = {"units": units.linear, "second": model.second}
    for name, each_of in stages.items():
        for number, each in enumerate(each_of):
            arrays |= {
                f"{name}_weights_{number}": each.weights,
                f"{name}_intercept_{number}": each.intercept,
            }
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
        places = [
            (f"{name}_weights_{at}", f"{name}_intercept_{at}") for at in range(count)
        ]
        return tuple(
            Linear(arrays[weights], arrays[intercept]) for weights, intercept in places
        )

    vocabularies = None
    if "idf" in arrays:
        words = Vocabulary(names["words"], arrays["idf"], 2)
        vocabularies = words, Vocabulary(names["beside"], arrays["idf_beside"], 1)
    units = UnitModel(vocabularies, stage("units"), float(arrays["share"]))
    parts = tuple(tuple(line.split()) for line in names["parts"])
    third = Trees(
        **{field.name: arrays[f"third_{field.name}"] for field in fields(Trees)}
    )
    return SpanModel(
        names["categories"],
        tuple(arrays["relaxed"].tolist()),
        parts,
        units,
        stage("second"),
        third,
    )
