"""Does training on short premises suffice?  An experiment on pairs with matched overlap (Section 4.1).

Columns (3) and (6) of Table 13 differ in what a model is trained on: short premises, or long ones filtered by
BM25.  In the rebuilt data a threshold on word overlap separates most Neutral pairs from the others, because
A.1.7 bounds the overlap of Neutral pairs alone; a difference between the columns then says little about
reading.  In the design ``bound`` all three labels have the same bound, and in ``matched`` the same
distribution of overlaps; ``all`` has all pairs.  The data are split by opinion, several times.
"""

import hashlib
import logging
import math
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import ndtri

from lextables.papers.lawngnli.difficulty import MAX_OVERLAP
from lextables.papers.lawngnli.label_tables import (
    CHOICE,
    GUESSING,
    PARTS,
    TWIN,
    Overlap,
    by_label,
    decided,
    fit_threshold,
    guesses,
)
from lextables.papers.lawngnli.labels import LABELS, NEUTRAL
from lextables.papers.lawngnli.pairs import NLI
from lextables.pipeline.dataset import Column, Row, Table, read
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs
from lextables.tasks.classification.examples import Text, texts_of

REPETITIONS, FOLDS = 10, 5
STRATUM = 0.1  # width of the strata of overlap
ALL, BOUND, MATCHED = DESIGNS = ("all", "bound", "matched")
DESIGN_NAMES = {
    ALL: "All pairs",
    BOUND: "Overlap below one half, all labels",
    MATCHED: "Overlap matched in strata of a tenth",
}
SHORT, FILTERED = VIEWS = ("short", "long_bm25")
# {condition: (view in training, view in the test)}, as in Table 13
CONDITIONS = {"(3)": (SHORT, FILTERED), "(6)": (FILTERED, FILTERED)}
MODELS = {
    "overlap": "Overlap of words and a linear model",
    "words": "Words, their overlap and a linear model",
    "aligned": "Frozen token vectors, aligned",
    "alone": "Frozen token vectors of the hypothesis alone",
    "guess": GUESSING,
}
SENTENCES = 2  # of a premise, whose token vectors are compared with the hypothesis
SENTENCE_END = re.compile(r"(?<=[.!?;:])[\"”')\]]*\s+(?=[\"“(\[]?[A-Z0-9])|\n+")
# (places of training pairs, places of test pairs) -> probabilities of their labels (test pairs, labels)
Predict = Callable[[np.ndarray, np.ndarray], np.ndarray]
Encode = Callable[[Iterable[str]], Mapping[str, Any]]  # `alignment.token_vectors` of one encoder
RESAMPLES = 10_000
POWER = 0.8
# With 522 to 540 pairs a difference of 5 to 8 points is found with 80 % power, with 300 one of 7 to 10.
# Column (6) of Table 13 is 3 to 10 points above column (3): fewer pairs would find almost none of that.
MIN_PAIRS = 300
LOG_SECONDS = 60
_log = logging.getLogger(__name__)

PAIRS = Table(
    "pairs",
    "All pairs, and those with less than half of the hypothesis's bigrams in the short premise.",
    (
        Column("example_id", pa.string(), "the example of lawngnli_nli"),
        Column("example", pa.string(), "`<example>[:twin]`"),
        Column("premise", pa.string(), "the case whose opinion the premise is"),
        Column("label", pa.int32(), "place of the label"),
        Column("overlap", pa.float64(), "share of the hypothesis's bigrams that are in the short premise"),
        *(Column(design, pa.bool_(), f"whether it is in the design `{design}`") for design in DESIGNS),
    ),
    key=("example_id",),
    labels=("label", *DESIGNS),
)
ANSWERS = Table(
    "answers",
    "The probability of each label by each model, in each repetition of the split by opinion.",
    (
        Column("design", pa.string(), "all, bound or matched"),
        Column("model", pa.string(), "features of the linear model, or guess"),
        Column("condition", pa.string(), "(3) or (6)"),
        Column("repetition", pa.int32(), "from 0"),
        Column("example_id", pa.string(), "the pair"),
        Column("answer", pa.list_(pa.float32()), "probabilities; of guesses two halves"),
    ),
    key=("design", "model", "condition", "repetition", "example_id"),
    ordered=False,
)


def choose_pairs(rows: Iterable[Row], overlap: Mapping[str, float], seed: int) -> list[Row]:
    """Return the rows of `PAIRS`, sorted, from the examples of the three-label head.

    ``overlap`` has the overlap of each example by its id.  A family is an example with its twin; families
    with a pair at or above the bound of A.1.6 are dropped.  A design takes two families of Entail and
    Contradict for each one of Neutral, at random: ``bound`` from all, ``matched`` from each stratum of mean
    overlap; ``all`` has every pair.
    """
    families: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        families[row["example"].removesuffix(TWIN)].append(row)
    strata: dict[tuple[str, int], dict[bool, list[str]]] = defaultdict(lambda: {True: [], False: []})
    for family, members in families.items():
        overlaps = [overlap[row["example_id"]] for row in members]
        if max(overlaps) < MAX_OVERLAP:
            neutral = LABELS[members[0]["label"]] == NEUTRAL
            strata[BOUND, 0][neutral].append(family)
            strata[MATCHED, int(fmean(overlaps) / STRATUM)][neutral].append(family)
    chosen: dict[str, set[str]] = {design: set() for design in DESIGNS}
    chosen[ALL] = set(families)
    for (design, _), stratum in strata.items():
        for stratum_families in stratum.values():
            stratum_families.sort(key=lambda family: hashlib.sha256(f"{seed} {family}".encode()).digest())
        count = min(len(stratum[True]), len(stratum[False]) // 2)
        chosen[design] |= {*stratum[True][:count], *stratum[False][: 2 * count]}
    return sorted(
        (
            {name: row[name] for name in ("example_id", "example", "premise", "label")}
            | {"overlap": overlap[row["example_id"]]}
            | {design: family in chosen[design] for design in DESIGNS}
            for family, members in families.items()
            for row in members
        ),
        key=lambda row: row["example_id"],
    )


def splits(premises: Sequence[str], seed: int) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield (repetition, places of training pairs, places of test pairs).

    In a repetition each pair is tested once, and all pairs about one opinion are in the same fold.
    """
    from sklearn.model_selection import GroupKFold  # slow to import, and tables do not need it

    for repetition in range(REPETITIONS):
        folds = GroupKFold(FOLDS, shuffle=True, random_state=seed + repetition)
        for training, test in folds.split(premises, groups=premises):
            yield repetition, training, test


def run(
    examples: str | Path, texts: str | Path, settings: Mapping[str, Any], seed: int, encode: Encode
) -> tuple[list[Row], list[Row]]:
    """Return the rows of `PAIRS` and of `ANSWERS`; no answers for a design with fewer than `MIN_PAIRS`.

    ``settings`` are those of the task's linear models.  The log has the number of fits done every minute.
    """
    rows = {row["example_id"]: row for row in read(examples) if row["head_id"] == NLI}
    overlap = Overlap(texts)
    of_pair = overlap.of(list(rows.values()), SHORT)
    pairs = choose_pairs(rows.values(), dict(zip(rows, of_pair.tolist(), strict=True)), seed)
    designs = {design: np.flatnonzero([row[design] for row in pairs]) for design in DESIGNS}
    designs = {design: chosen for design, chosen in designs.items() if len(chosen) >= MIN_PAIRS}
    # Models know each pair twice: with the premise of the first view, then with that of the second.
    first = {view: at * len(pairs) for at, view in enumerate(VIEWS)}
    ordered = [rows[row["example_id"]] for row in pairs]
    answers: list[Row] = []
    with progress(len(designs) * len(MODELS) * REPETITIONS * FOLDS * len(CONDITIONS)) as fits:
        predict = {}
        if designs:
            views = [{"text": view, "pair": "hypothesis"} for view in VIEWS]
            text_of = {text.key: text for text in texts_of(examples, texts, views)}
            predict = _models(
                [text_of[row[view], row["hypothesis"]] for view in VIEWS for row in ordered],
                np.concatenate([overlap.of(ordered, view) for view in VIEWS]),
                np.array([row["label"] for _ in VIEWS for row in ordered]),
                settings,
                encode,
            )
        for design, chosen in designs.items():
            for repetition, training, test in splits([pairs[place]["premise"] for place in chosen], seed):
                for model, (condition, views_of) in product(MODELS, CONDITIONS.items()):
                    in_training, in_test = (first[view] for view in views_of)
                    shares = predict[model](in_training + chosen[training], in_test + chosen[test])
                    fit = {"design": design, "model": model, "condition": condition, "repetition": repetition}
                    fits.append(fit)
                    answers.extend(
                        fit | {"example_id": pairs[place]["example_id"], "answer": answer.tolist()}
                        for place, answer in zip(chosen[test], shares, strict=True)
                    )
    return pairs, answers


@contextmanager
def progress(total: int) -> Iterator[list[Row]]:
    """Yield a list of the fits done, and log its length against ``total`` every `LOG_SECONDS`.

    A thread does it, because reading the token vectors takes minutes.
    """
    fits: list[Row] = []
    ended = threading.Event()

    def report() -> None:
        while not ended.wait(LOG_SECONDS):
            _log.info("%d of %d fits done", len(fits), total)

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield fits
    finally:
        ended.set()
        thread.join()
    _log.info("%d of %d fits done", len(fits), total)


def _models(
    texts: Sequence[Text],
    overlap: np.ndarray,
    labels: np.ndarray,
    settings: Mapping[str, Any],
    encode: Encode,
) -> dict[str, Predict]:
    """Return the models by name, each a function of the places of its training and of its test pairs.

    ``texts``, ``overlap`` of bigrams and ``labels`` are of all pairs.  Word frequencies are counted in all
    texts, which uses no label.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from lextables.models.alignment import unmatched  # loads torch, which tables do not need
    from lextables.tasks.classification import linear  # loads scikit-learn

    sides = linear.sides_of(texts, "both", pairs=True)
    rare, right = linear.rarity(sides), labels[:, None] == np.arange(len(LABELS))

    def of_words(name: str) -> Predict:
        options = {**settings, "features": name}
        features = linear.linear_features(
            sides, longest=settings["longest"], features=name, rare=rare, vectors=None
        )

        def predict(training: np.ndarray, test: np.ndarray) -> np.ndarray:
            head = linear.fit(features, training, right[training], options)
            return linear.shares(head.logits(features, test), multi_label=False)

        return predict

    def of_vectors(features: np.ndarray) -> Predict:
        def predict(training: np.ndarray, test: np.ndarray) -> np.ndarray:
            model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
            return model.fit(features[training], labels[training]).predict_proba(features[test])

        return predict

    def guess(training: np.ndarray, test: np.ndarray) -> np.ndarray:
        return guesses(overlap[test], fit_threshold(overlap[training], labels[training]))

    closest = [(text.second, nearest(text.text, text.second)) for text in texts]
    tokens = encode(side for hypothesis, sentences in closest for side in (hypothesis, *sentences))
    aligned = [
        unmatched(tokens[hypothesis], [tokens[sentence] for sentence in sentences])
        for hypothesis, sentences in closest
    ]
    alone = [tokens[hypothesis].float().mean(dim=0).numpy() for hypothesis, _ in closest]
    return {
        "overlap": of_words("overlap"),
        "words": of_words("words"),
        "aligned": of_vectors(np.array(aligned)),
        "alone": of_vectors(np.array(alone)),
        "guess": guess,
    }


def nearest(premise: str, hypothesis: str) -> list[str]:
    """Return the sentences of a premise that have the most words of the hypothesis, best first.

    Parts between semicolons are sentences too.
    """
    words = set(hypothesis.lower().split())
    sentences = [sentence for sentence in SENTENCE_END.split(premise) if sentence.strip()] or [premise]
    common = [len(words & set(sentence.lower().split())) for sentence in sentences]
    return [sentences[place] for place in np.argsort(-np.array(common), kind="stable")[:SENTENCES]]


@dataclass(frozen=True)
class Difference:
    """A difference between two conditions with its 95 % interval over opinions and repetitions.

    ``detectable`` is the smallest true difference that is found with 80 % power by a test at 5 %.
    """

    value: float
    low: float
    high: float
    detectable: float


def difference(gains: np.ndarray, premises: Sequence[str], seed: int = 0) -> Difference:
    """Return the mean of ``gains``, float64 (repetitions, pairs), with its interval.

    The standard error is a bootstrap's: opinions are drawn with replacement, each with all its pairs, and
    with them one of the repetitions.
    """
    _, places = np.unique(premises, return_inverse=True)
    sums = np.array([np.bincount(places, row) for row in gains])
    counts = np.bincount(places)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=RESAMPLES)
    repetition = rng.integers(len(gains), size=RESAMPLES)
    means = (drawn * sums[repetition]).sum(axis=1) / (drawn @ counts)
    error, value = float(means.std(ddof=1)), float(gains.mean())
    half = float(ndtri(0.975)) * error
    return Difference(value, value - half, value + half, half + float(ndtri(POWER)) * error)


def table(inputs: Inputs) -> Iterator[Cell]:
    """Yield the cells of the table of the experiment."""
    pairs = list(read(inputs.data / f"{PAIRS.name}.parquet"))
    answers: dict[tuple[str, str, str], dict[int, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in read(inputs.data / f"{ANSWERS.name}.parquet"):
        of_model = answers[row["design"], row["model"], row["condition"]]
        of_model[row["repetition"]][row["example_id"]] = row["answer"]
    for design in DESIGNS:
        chosen = [row for row in pairs if row[design]]
        name = DESIGN_NAMES[design]
        reason = "" if len(chosen) >= MIN_PAIRS else f"{len(chosen)} pairs, fewer than {MIN_PAIRS}"
        yield Cell(f"{name} / N", "Pairs", float(len(chosen)), decimals=0)
        yield Cell(f"{name} / N", "Opinions", float(len({row["premise"] for row in chosen})), decimals=0)
        for model, row_name in MODELS.items():
            if reason:
                yield Cell(f"{name} / {row_name}", "(6)", None, reason=reason)
                continue
            of_model = {condition: answers[design, model, condition] for condition in CONDITIONS}
            yield from _cells(f"{name} / {row_name}", chosen, of_model)


def _cells(
    row: str, pairs: Sequence[Row], answers: Mapping[str, Mapping[int, Mapping[str, Sequence[float]]]]
) -> Iterator[Cell]:
    """The accuracies under both conditions, by label and within twins, and the difference."""
    premises = [pair["premise"] for pair in pairs]
    labels = np.array([pair["label"] for pair in pairs])
    right, choices = {}, {}
    for condition, of_condition in answers.items():
        shares = np.array(
            [
                [of_repetition[pair["example_id"]] for pair in pairs]
                for _, of_repetition in sorted(of_condition.items())
            ]
        )
        right[condition] = decided(shares)[:, np.arange(len(pairs)), labels]
        mean = difference(right[condition], premises)
        yield Cell(row, condition, mean.value, max(mean.low, 0), min(mean.high, 1), decimals=3)
        split = [by_label(pairs, of_repetition) for of_repetition in shares]
        for part in PARTS:
            values = [value for of_repetition in split for _, value in of_repetition[part]]
            yield Cell(row, f"{condition}, {part}", fmean(values) if values else math.nan, decimals=3)
        choices[condition] = np.array(
            [[value for _, value in of_repetition[CHOICE]] for of_repetition in split]
        )
    of_choice = [pair["premise"] for pair in pairs if LABELS[pair["label"]] != NEUTRAL]
    choice = difference(choices["(6)"] - choices["(3)"], of_choice)
    yield Cell(row, f"(6) less (3), {CHOICE}", choice.value, choice.low, choice.high, decimals=3)
    gap = difference(right["(6)"] - right["(3)"], premises)
    yield Cell(row, "(6) less (3)", gap.value, gap.low, gap.high, decimals=3)
    yield Cell(row, "Smallest difference found with 80 % power", gap.detectable, decimals=3)
