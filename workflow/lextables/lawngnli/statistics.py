"""LawngNLI's Table 2, and the funnel from citations to examples.

Table 2 gives, for long and for short premises, in the "analysis" subset and in the full set: the
[10, 25, 50, 75, 90] percentiles of premise length, the mean hypothesis length, the share of hypotheses
with a negation word by label, and the numbers of distinct premises, distinct hypotheses and examples, all
over the training split.  Lengths are in RoBERTa tokens with the two special tokens.  As in the released
code, the premises are those without citations and with nothing prepended.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lextables.lawngnli.balance import TRAIN
from lextables.lawngnli.labels import LABELS

PERCENTILES = (10, 25, 50, 75, 90)
NEGATION_WORDS = frozenset("no not never none nobody nothing neither nor cannot".split())
NEGATION_PART = "n't"

Row = Mapping[str, Any]
Count = Callable[[str], int]


def has_negation_word(hypothesis: str) -> bool:
    """Return whether a hypothesis holds one of Table 2's negation words or "n't".

    As in the released code, the words are NLTK's Treebank tokens and a capital letter makes another
    word ("No" is none of them); but the text is not cut into sentences first, so a full stop that NLTK
    leaves on a word is taken off.
    """
    if NEGATION_PART in hypothesis:
        return True
    from nltk.tokenize import word_tokenize  # slow to load, and Tables 3 and 4 do without

    return any(word.rstrip(".") in NEGATION_WORDS for word in word_tokenize(hypothesis, preserve_line=True))


@dataclass(frozen=True)
class DatasetStatistics:
    """One column of Table 2; lengths in tokens, shares from 0 to 1."""

    premise_length: tuple[float, ...]
    hypothesis_length: float
    hypothesis_negation: dict[str, float]
    unique_premises: int
    unique_hypotheses: int
    examples: int


def dataset_statistics(
    rows: Iterable[Row], length: Count, *, premise: str = "premise", labels: Sequence[str] = LABELS
) -> DatasetStatistics:
    """Return one column of Table 2 over ``rows``, which carry ``premise``, ``hypothesis`` and ``label``.

    ``length`` gives a text's length in tokens (`TokenCounter.sequence_length`); it is asked once for
    each distinct text.  ``labels`` are the data set's, in the order of the table ("entail",
    "not_entail" for two).  Percentiles are numpy's, linear between two lengths.  A label without
    examples has the share nan; without any row, so have all.  Memory: 16 bytes and a count for each
    distinct text, and 4 bytes a row.
    """
    gathered = _Gathered(length, labels)
    for row in rows:
        gathered.add(row[premise], row["hypothesis"], row["label"])
    return gathered.statistics()


def table2(rows: Iterable[Row], length: Count) -> dict[tuple[str, str], DatasetStatistics]:
    """Return LawngNLI's four columns of Table 2, keyed (premise, subset), in one pass over ``rows``.

    Premise is "long" or "short" and subset "analysis" or "full".  Rows carry ``split``, ``analysis``,
    ``label``, ``hypothesis``, ``long_premise`` and ``short_premise``, twins among them; only those of
    the training split count.
    """
    lengths = _Cached(length)
    columns = {
        (premise, subset): _Gathered(lengths, LABELS)
        for premise in ("long", "short")
        for subset in ("analysis", "full")
    }
    for row in rows:
        if row["split"] != TRAIN:
            continue
        for (premise, subset), gathered in columns.items():
            if subset == "full" or row["analysis"]:
                gathered.add(row[f"{premise}_premise"], row["hypothesis"], row["label"])
    return {key: gathered.statistics() for key, gathered in columns.items()}


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class _Cached:
    """A count that is taken once for each distinct text."""

    def __init__(self, length: Count) -> None:
        self._length, self._known = length, dict[bytes, int]()

    def __call__(self, text: str) -> int:
        key = _key(text)
        if key not in self._known:
            self._known[key] = self._length(text)
        return self._known[key]


class _Gathered:
    def __init__(self, length: Count, labels: Sequence[str]) -> None:
        self._length = length if isinstance(length, _Cached) else _Cached(length)
        self._premises: set[bytes] = set()
        self._hypotheses: set[bytes] = set()
        self._premise_lengths = array("i")
        self._hypothesis_tokens = 0
        self._by_label = {label: [0, 0] for label in labels}

    def add(self, premise: str, hypothesis: str, label: str) -> None:
        self._premises.add(_key(premise))
        self._hypotheses.add(_key(hypothesis))
        self._premise_lengths.append(self._length(premise))
        self._hypothesis_tokens += self._length(hypothesis)
        counts = self._by_label[label]
        counts[0] += has_negation_word(hypothesis)
        counts[1] += 1

    def statistics(self) -> DatasetStatistics:
        examples = len(self._premise_lengths)
        lengths = self._premise_lengths or [np.nan]
        return DatasetStatistics(
            tuple(float(value) for value in np.percentile(lengths, PERCENTILES)),
            self._hypothesis_tokens / examples if examples else float("nan"),
            {label: hits / n if n else float("nan") for label, (hits, n) in self._by_label.items()},
            len(self._premises),
            len(self._hypotheses),
            examples,
        )


@dataclass(frozen=True)
class FunnelStep:
    """One line of the funnel: how many are left after a step, and as shares, 0 to 1."""

    step: str
    left: int
    dropped: int
    of_previous: float
    of_first: float


def funnel(counts: Iterable[tuple[str, int]]) -> list[FunnelStep]:
    """Return the funnel over (step, how many are left) in the order of the construction.

    ``dropped`` is negative where a step adds (twinning).  A share of nothing is nan.
    """
    steps: list[FunnelStep] = []
    for step, left in counts:
        previous = steps[-1].left if steps else left
        first = steps[0].left if steps else left
        steps.append(FunnelStep(step, left, previous - left, _share(left, previous), _share(left, first)))
    return steps


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
