"""Table 2: LawngNLI and the public NLI data sets.

LawngNLI has four columns: long and short premises, in the "analysis" subset and in the
full set.  Each column gives, over the training split:

- the [10, 25, 50, 75, 90] percentiles of premise length, and the mean hypothesis
  length, in RoBERTa tokens with the two special tokens,
- the share of hypotheses with a negation word, by label,
- the numbers of distinct premises, distinct hypotheses and examples.

As in the released code, LawngNLI's premises are those without citations and with
nothing prepended.
"""

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lextables.papers.lawngnli.dataset.labels import LABELS, TRAIN
from lextables.pipeline.dataset import Row, batches, read, read_table

PERCENTILES = (10, 25, 50, 75, 90)
NEGATION_WORDS = frozenset(
    "no not never none nobody nothing neither nor cannot".split()
)
NEGATION_PART = "n't"
# Only a text that matches can have such a token: one of the words without a letter on
# either side, or "cannot" in any case, which NLTK cuts into "can" and "not".
_POSSIBLE_NEGATION = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(sorted(NEGATION_WORDS))})(?![A-Za-z])|(?i:cannot)"
)
TokenLength = Callable[[str], int]


def has_negation_word(hypothesis: str) -> bool:
    """Return whether a hypothesis has one of Table 2's negation words or "n't".

    As in the released code, the words are NLTK's Treebank tokens and case matters ("No"
    is not one of them); but the text is not cut into sentences first, so a full stop
    that NLTK leaves on a word is taken off.
    """
    if NEGATION_PART in hypothesis:
        return True
    if not _POSSIBLE_NEGATION.search(hypothesis):
        return False
    # Slow to import, and Tables 3 and 4 do not need it.
    from nltk.tokenize import word_tokenize

    words = word_tokenize(hypothesis, preserve_line=True)
    return any(word.rstrip(".") in NEGATION_WORDS for word in words)


@dataclass(frozen=True)
class DatasetStatistics:
    """One column of Table 2; lengths in tokens, shares from 0 to 1.

    ``premise_length`` are the `PERCENTILES`, ``hypothesis_length`` is the mean, and
    ``hypothesis_negation`` is {label: share of hypotheses with a negation word}.
    Without examples there are no percentiles and no mean, and no share for a label that
    has none.
    """

    premise_length: tuple[float, ...]
    hypothesis_length: float | None
    hypothesis_negation: dict[str, float]
    unique_premises: int
    unique_hypotheses: int
    examples: int
    labels: tuple[str, ...] = LABELS


def table2(
    rows: Iterable[Row], length: TokenLength
) -> dict[tuple[str, str], DatasetStatistics]:
    """Return LawngNLI's four columns of Table 2, keyed (premise, subset), in one pass
    over ``rows``.

    Premise is "long" or "short" and subset "analysis" or "full".  Rows carry ``split``,
    ``analysis``, ``label``, ``hypothesis``, ``long_premise`` and ``short_premise``,
    twins among them; only those of the training split count.  ``length`` gives a text's
    length in tokens (`TokenCounter.sequence_length`); it is asked once for each
    distinct text.  Percentiles are numpy's, linear between two lengths.  Memory: 16
    bytes and a count for each distinct text, and 4 bytes a row.
    """
    cached_length = _CachedLength(length)
    keys = product(("long", "short"), ("analysis", "full"))
    columns = {key: _Column(cached_length) for key in keys}
    for row in rows:
        if row["split"] != TRAIN:
            continue
        for (premise, subset), column in columns.items():
            if subset == "full" or row["analysis"]:
                column.add(row[f"{premise}_premise"], row["hypothesis"], row["label"])
    return {key: column.statistics() for key, column in columns.items()}


def with_long_premises(data: Path) -> Iterator[Row]:
    """Yield the examples in the folder ``data``, sorted by premise, so that only one
    long premise is in memory.
    """
    examples = sorted(
        read(data / "examples.parquet"),
        key=lambda row: (row["cited_case_id"], row["example_id"], row["is_twin"]),
    )
    # Sorted by case_id, as the examples are.
    premises = read(data / "long_premises.parquet", ["case_id", "text"])
    premise: Mapping[str, object] = {"case_id": None}  # none is read yet
    for row in examples:
        while premise["case_id"] != row["cited_case_id"]:
            premise = next(premises)
        yield row | {"long_premise": premise["text"]}


def of_pairs(folder: Path) -> DatasetStatistics:
    """Return the column of a public NLI data set, of its training pairs.

    ``folder`` has the tables of `corpora.nli.schema`.  A pair that training repeats
    counts that many times, as in the paper's ANLI.  Memory: 21 bytes a text and 9 a
    pair.  A hypothesis is searched for negation words once.
    """
    texts = folder / "texts.parquet"
    text_table = read_table(texts, ["text_id", "tokens"])
    ids = text_table["text_id"].to_numpy().astype("S16")
    tokens = text_table["tokens"].to_numpy()
    (head,) = read(folder / "heads.parquet")
    premises, hypotheses, labels = _training(folder / "examples.parquet", ids)
    is_hypothesis = np.zeros(len(ids), dtype=bool)
    is_hypothesis[hypotheses] = True
    has_negation = np.zeros(len(ids), dtype=bool)
    for place, row in enumerate(read(texts, ["text"])):
        if is_hypothesis[place]:
            has_negation[place] = has_negation_word(row["text"])
    negation_shares = {}
    for label, answer in enumerate(head["answers"]):
        hypotheses_of_label = hypotheses[labels == label]
        if len(hypotheses_of_label):
            negation_shares[answer] = float(has_negation[hypotheses_of_label].mean())
    return DatasetStatistics(
        premise_length=_percentiles(tokens[premises]),
        hypothesis_length=float(tokens[hypotheses].mean()) if len(hypotheses) else None,
        hypothesis_negation=negation_shares,
        unique_premises=len(np.unique(premises)),
        unique_hypotheses=int(is_hypothesis.sum()),
        examples=len(premises),
        labels=tuple(head["answers"]),
    )


def _percentiles(lengths: Sequence[int] | np.ndarray) -> tuple[float, ...]:
    """Return the `PERCENTILES` of lengths; empty if there are none."""
    if not len(lengths):
        return ()
    return tuple(map(float, np.percentile(lengths, PERCENTILES)))


def _training(
    examples: Path, ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The training pairs: places in the sorted ``ids`` of premises and of hypotheses,
    and labels.
    """
    premises = []
    hypotheses = []
    labels = []
    for batch in batches(examples, ["split", "text_id", "pair_id", "label"]):
        rows = batch.filter(pc.equal(batch["split"], TRAIN))
        premises.append(_places(rows["text_id"], ids))
        hypotheses.append(_places(rows["pair_id"], ids))
        labels.append(rows["label"].to_numpy().astype(np.int8))
    return np.concatenate(premises), np.concatenate(hypotheses), np.concatenate(labels)


def _places(text_ids: pa.Array, ids: np.ndarray) -> np.ndarray:
    """Return the places of text ids in the sorted ``ids``, int32."""
    sought = text_ids.to_numpy(zero_copy_only=False).astype("S16")
    return np.searchsorted(ids, sought).astype(np.int32)


def _digest(text: str) -> bytes:
    """Return 16 bytes that stand for a text where only its equality with others
    matters.
    """
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class _CachedLength:
    """The length of texts in tokens, computed once for each distinct text."""

    def __init__(self, length: TokenLength) -> None:
        self._length = length
        self._lengths: dict[bytes, int] = {}

    def __call__(self, text: str) -> int:
        digest = _digest(text)
        if digest not in self._lengths:
            self._lengths[digest] = self._length(text)
        return self._lengths[digest]


class _Column:
    """What one column of Table 2 is computed from, an example at a time."""

    def __init__(self, length: TokenLength) -> None:
        self._length = length
        self._premises: set[bytes] = set()
        self._hypotheses: set[bytes] = set()
        self._premise_lengths = array("i")
        self._hypothesis_tokens = 0
        self._examples: Counter[str] = Counter()  # by label
        self._negations: Counter[str] = Counter()  # by label

    def add(self, premise: str, hypothesis: str, label: str) -> None:
        """Count an example."""
        self._premises.add(_digest(premise))
        self._hypotheses.add(_digest(hypothesis))
        self._premise_lengths.append(self._length(premise))
        self._hypothesis_tokens += self._length(hypothesis)
        self._examples[label] += 1
        self._negations[label] += has_negation_word(hypothesis)

    def statistics(self) -> DatasetStatistics:
        """Return the column of the examples that were added."""
        examples = len(self._premise_lengths)
        negation_shares = {}
        for label in LABELS:
            if self._examples[label]:
                share = self._negations[label] / self._examples[label]
                negation_shares[label] = share
        return DatasetStatistics(
            premise_length=_percentiles(self._premise_lengths),
            hypothesis_length=self._hypothesis_tokens / examples if examples else None,
            hypothesis_negation=negation_shares,
            unique_premises=len(self._premises),
            unique_hypotheses=len(self._hypotheses),
            examples=examples,
        )
