"""LawngNLI's accuracies by label and within twins, and a baseline that can only detect
Neutral.

An accuracy over three labels does not show what a model reads: Neutral pairs have
premises from other opinions, so that their words differ, while an Entail and a
Contradict twin have the same premise and nearly the same words.  Two columns therefore
leave Neutral out: `CHOICE` judges each example by itself, `TWINS` ranks an example
against its twin.  These columns are not in the paper.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lextables.metrics.intervals import jackknife_interval
from lextables.papers.lawngnli.dataset.labels import (
    CONTRADICT,
    ENTAIL,
    LABELS,
    NEUTRAL,
    TEST,
    TRAIN,
)
from lextables.papers.lawngnli.dataset.pairs import NLI
from lextables.papers.lawngnli.hypotheses.difficulty import bigrams, spaced
from lextables.papers.lawngnli.hypotheses.difficulty import overlap as overlap_of
from lextables.pipeline.dataset import Row, read

CHOICE = "Entail or Contradict"
TWINS = "Entail above Contradict, within twins"
PARTS = (*LABELS, CHOICE, TWINS)
GUESSING = "Neutral detected by overlap of bigrams, Entail or Contradict guessed"
TWIN = ":twin"  # the id of a twin is its example's id and this
Probabilities = Sequence[Sequence[float]] | np.ndarray  # (examples, labels)
Correct = Mapping[str, Sequence[tuple[str, float]]]  # {part: (premise, share correct)}


def by_label(rows: Sequence[Row], probabilities: Probabilities) -> Correct:
    """Return for each of `PARTS` a (premise, share correct) of each of its examples, or
    of each pair of twins.

    ``rows`` are test examples of the three-label head, ``probabilities`` (examples,
    labels) those of a system.  `CHOICE` has the Entail and Contradict examples, correct
    if the right one of these two labels is more probable.  `TWINS` is 1 if the
    probability of Entail less that of Contradict is higher for the Entail example of
    two twins.  Ties count half, so guessing has 0.5 in both.
    """
    answers = np.asarray(probabilities, dtype=np.float64)
    scores = answers[:, LABELS.index(ENTAIL)] - answers[:, LABELS.index(CONTRADICT)]
    correct: dict[str, list[tuple[str, float]]] = {part: [] for part in PARTS}
    scores_of: dict[str, dict[str, float]] = defaultdict(dict)
    premise_of: dict[str, str] = {}
    shares = decided(answers)
    for row, share, score in zip(rows, shares, scores.tolist(), strict=True):
        label = LABELS[row["label"]]
        premise = row["premise"]
        correct[label].append((premise, float(share[row["label"]])))
        if label == NEUTRAL:
            continue
        is_correct = _above(score, 0)
        if label == CONTRADICT:
            is_correct = _above(0, score)
        correct[CHOICE].append((premise, is_correct))
        twins = row["example"].removesuffix(TWIN)
        scores_of[twins][label] = score
        # Twins have the same premise.
        premise_of[twins] = premise
    for twins in sorted(scores_of):
        pair = scores_of[twins]
        if len(pair) == 2:
            is_above = _above(pair[ENTAIL], pair[CONTRADICT])
            correct[TWINS].append((premise_of[twins], is_above))
    return correct


def _above(first: float, second: float) -> float:
    if first == second:
        return 0.5
    return float(first > second)


def decided(probabilities: np.ndarray) -> np.ndarray:
    """Return 1 for the most probable label and 0 for the others; labels that tie share
    the 1.

    Labels are the last axis of ``probabilities``.
    """
    most = probabilities == probabilities.max(axis=-1, keepdims=True)
    return most / most.sum(axis=-1, keepdims=True)


def share_of_premises(
    values: Sequence[tuple[str, float]],
) -> tuple[float, tuple[float, float] | None]:
    """Return the mean of (premise, value) pairs, and its 95 % jackknife interval over
    premises.

    Each premise is left out in turn with all its values.  There is no interval for one
    premise.
    """
    names = [premise for premise, _ in values]
    numbers = np.array([value for _, value in values])
    premises, places = np.unique(names, return_inverse=True)
    mean = float(numbers.mean())
    if len(premises) < 2:
        return mean, None
    sums = np.bincount(places, numbers)
    counts = np.bincount(places)
    without = (sums.sum() - sums) / (counts.sum() - counts)
    return mean, jackknife_interval(mean, without, (0, 1))


class Overlap:
    """The overlap of bigrams between hypotheses and premises, by the ids of the two
    texts.
    """

    def __init__(self, texts: str | Path) -> None:
        """``texts`` is the table of the data set's texts."""
        self._texts = texts
        self._overlaps: dict[tuple[str, str], float] = {}

    def of(self, rows: Sequence[Row], view: str) -> np.ndarray:
        """Return the overlap of each example's hypothesis with its premise under
        ``view``, (examples,).

        One premise is in memory at a time.
        """
        keys = [(row[view], row["hypothesis"]) for row in rows]
        hypotheses_of: dict[str, set[str]] = defaultdict(set)
        for premise, hypothesis in keys:
            if (premise, hypothesis) not in self._overlaps:
                hypotheses_of[premise].add(hypothesis)
        if hypotheses_of:
            self._add(hypotheses_of)
        return np.array([self._overlaps[key] for key in keys])

    def _add(self, hypotheses_of: Mapping[str, set[str]]) -> None:
        """Add the overlaps of {premise: its hypotheses}, all ids of texts."""
        hypotheses = set().union(*hypotheses_of.values())
        bigrams_of = {}
        for row in read(self._texts):
            if row["text_id"] in hypotheses:
                bigrams_of[row["text_id"]] = bigrams(row["text"])
        for row in read(self._texts):
            name = row["text_id"]
            if name not in hypotheses_of:
                continue
            premise = spaced(row["text"])
            for hypothesis in hypotheses_of[name]:
                shared_bigrams = overlap_of(bigrams_of[hypothesis], premise)
                self._overlaps[name, hypothesis] = shared_bigrams


def guesses(overlap: np.ndarray, threshold: float) -> np.ndarray:
    """Return probabilities of the labels: Neutral below the threshold, else half
    Entail, half Contradict.
    """
    neutral = overlap < threshold
    shares = np.zeros((len(overlap), len(LABELS)))
    shares[neutral, LABELS.index(NEUTRAL)] = 1
    for label in (ENTAIL, CONTRADICT):
        shares[~neutral, LABELS.index(label)] = 0.5
    return shares


def fit_threshold(overlap: np.ndarray, labels: np.ndarray) -> float:
    """Return the threshold with the highest expected accuracy of `guesses` on these
    training examples.
    """
    # Every overlap is below 1.01: under this threshold all examples are Neutral.
    candidates = np.unique(np.append(overlap, 1.01))
    places = np.arange(len(labels))
    accuracies = [
        guesses(overlap, threshold)[places, labels].mean() for threshold in candidates
    ]
    return float(candidates[int(np.argmax(accuracies))])


def guessing(
    examples: Sequence[Row], overlap: Overlap, condition: str
) -> tuple[list[Row], np.ndarray] | None:
    """Return the test examples and the `guesses` for them under ``condition``, `<view
    in training> > <view in the test>`.

    None for a condition without training or without a premise, and if there are no
    examples.
    """
    training_view, _, test_view = condition.partition(" > ")
    # The overlap is computed with whole premises, even if a model reads only a part.
    training_view = training_view.removesuffix("_512")
    test_view = test_view.removesuffix("_512")
    if not {training_view, test_view} <= {"short", "short_bm25", "long", "long_bm25"}:
        return None
    rows = [row for row in examples if row["head_id"] == NLI]
    training = [row for row in rows if row["split"] == TRAIN]
    test = [row for row in rows if row["split"] == TEST]
    if not training or not test:
        return None
    labels = np.array([row["label"] for row in training])
    threshold = fit_threshold(overlap.of(training, training_view), labels)
    return test, guesses(overlap.of(test, test_view), threshold)
