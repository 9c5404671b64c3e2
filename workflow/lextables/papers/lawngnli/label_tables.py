"""LawngNLI's accuracies by label and within twins, and what detecting Neutral alone reaches.

An accuracy over three labels does not show what a model reads: Neutral pairs have premises from other
opinions, so that their words differ, while an Entail and a Contradict twin have the same premise and nearly
the same words.  These columns are not in the paper.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from lextables.metrics.intervals import jackknife_interval
from lextables.papers.lawngnli.difficulty import bigrams, spaced
from lextables.papers.lawngnli.difficulty import overlap as overlap_of
from lextables.papers.lawngnli.labels import CONTRADICT, ENTAIL, LABELS, NEUTRAL, TEST, TRAIN
from lextables.papers.lawngnli.pairs import NLI
from lextables.pipeline.dataset import Row, read

TWINS = "Entail against Contradict, within twins"
GUESSING = "Neutral detected by overlap of bigrams, Entail or Contradict guessed"
TWIN = ":twin"
# The rank of each label from Contradict to Entail, int64 (labels,).
RANK = np.array([(CONTRADICT, NEUTRAL, ENTAIL).index(label) for label in LABELS])
Correct = Mapping[str, Sequence[tuple[str, float]]]  # {column: (premise, share correct)}


def by_label(rows: Sequence[Row], answers: Sequence[Sequence[float]]) -> Correct:
    """Return {label or `TWINS`: (premise, share correct) of its examples, or of its pairs of twins}.

    ``rows`` are test examples of the three-label head; ``answers`` (examples, labels) are the probabilities
    with which a system gives each label, or `one_hot`.  The answers for two twins are compared in the order
    contradict, neutral, entail: 1 if that for the Entail example is higher, 0.5 if both are equal.  Guessing
    has 0.5.
    """
    chosen = np.asarray(answers, dtype=np.float64)
    found: dict[str, list[tuple[str, float]]] = {label: [] for label in (*LABELS, TWINS)}
    twins: dict[str, dict[str, tuple[str, np.ndarray]]] = {}
    for row, shares in zip(rows, chosen, strict=True):
        label = LABELS[row["label"]]
        found[label].append((row["premise"], float(shares[row["label"]])))
        if label != NEUTRAL:
            twins.setdefault(row["example"].removesuffix(TWIN), {})[label] = (row["premise"], shares)
    for _, pair in sorted(twins.items()):
        if len(pair) == 2:
            found[TWINS].append((pair[ENTAIL][0], _in_order(pair[ENTAIL][1], pair[CONTRADICT][1])))
    return found


def _in_order(entail: np.ndarray, contradict: np.ndarray) -> float:
    """The probability that the first answer ranks above the second, plus half that of a tie."""
    joint = np.outer(entail, contradict)
    return float(joint[RANK[:, None] > RANK].sum() + joint[RANK[:, None] == RANK].sum() / 2)


def one_hot(answers: Sequence[int]) -> np.ndarray:
    """Return answers, as places among the labels, as probabilities, float64 (examples, labels)."""
    return np.eye(len(LABELS))[np.asarray(answers, dtype=np.int64)]


def share_of_premises(values: Sequence[tuple[str, float]]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean of (premise, value) and its 95 % interval, whole premises left out in turn."""
    premises, places = np.unique([premise for premise, _ in values], return_inverse=True)
    numbers = np.array([value for _, value in values])
    sums, counts = np.bincount(places, numbers), np.bincount(places)
    without = (sums.sum() - sums) / np.maximum(counts.sum() - counts, 1)
    mean = float(numbers.mean())
    return mean, jackknife_interval(mean, without, (0, 1)) if len(premises) > 1 else None


class Overlap:
    """The overlap of bigrams between hypotheses and premises, by the ids of the two texts."""

    def __init__(self, texts: str | Path) -> None:
        self._texts = texts
        self._known: dict[tuple[str, str], float] = {}

    def of(self, rows: Sequence[Row], view: str) -> np.ndarray:
        """Return the overlap of each example's hypothesis with its premise under ``view``, (examples,).

        One premise is in memory at a time.
        """
        keys = [(row[view], row["hypothesis"]) for row in rows]
        wanted: dict[str, set[str]] = defaultdict(set)
        for premise, hypothesis in keys:
            if (premise, hypothesis) not in self._known:
                wanted[premise].add(hypothesis)
        named = set().union(*wanted.values())
        known = {row["text_id"]: bigrams(row["text"]) for row in read(self._texts) if row["text_id"] in named}
        for row in read(self._texts) if wanted else ():
            if row["text_id"] in wanted:
                premise = spaced(row["text"])
                for hypothesis in wanted[row["text_id"]]:
                    self._known[row["text_id"], hypothesis] = overlap_of(known[hypothesis], premise)
        return np.array([self._known[key] for key in keys])


def guesses(overlap: np.ndarray, threshold: float) -> np.ndarray:
    """Return probabilities of the labels: Neutral below the threshold, else half Entail, half Contradict."""
    neutral = overlap < threshold
    shares = np.zeros((len(overlap), len(LABELS)))
    shares[neutral, LABELS.index(NEUTRAL)] = 1
    for label in (ENTAIL, CONTRADICT):
        shares[~neutral, LABELS.index(label)] = 0.5
    return shares


def fit_threshold(overlap: np.ndarray, labels: np.ndarray) -> float:
    """Return the threshold with the highest expected accuracy of `guesses` on these training examples."""
    candidates = np.unique(np.append(overlap, 1.01))
    places = np.arange(len(labels))
    accuracies = [guesses(overlap, threshold)[places, labels].mean() for threshold in candidates]
    return float(candidates[int(np.argmax(accuracies))])


def guessing(
    examples: Sequence[Row], overlap: Overlap, condition: str
) -> tuple[list[Row], np.ndarray] | None:
    """Return the test examples and the `guesses` for them under ``condition`` (`<trained under> > <read>`).

    None for a condition without training, or without a premise.
    """
    trained, _, shown = condition.partition(" > ")
    views = {view: view.removesuffix("_512") for view in (trained, shown)}
    if not all(view in ("short", "short_bm25", "long", "long_bm25") for view in views.values()):
        return None
    rows = [row for row in examples if row["head_id"] == NLI]
    training, test = ([row for row in rows if row["split"] == split] for split in (TRAIN, TEST))
    if not training or not test:
        return None
    labels = np.array([row["label"] for row in training])
    threshold = fit_threshold(overlap.of(training, views[trained]), labels)
    return test, guesses(overlap.of(test, views[shown]), threshold)
