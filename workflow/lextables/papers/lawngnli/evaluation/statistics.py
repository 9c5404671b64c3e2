"""Table 2: LawngNLI and the public NLI data sets.

It gives, for long and for short premises, in the "analysis" subset and in the full set:
the [10, 25, 50, 75, 90] percentiles of premise length, the mean hypothesis length, the
share of hypotheses with a negation word by label, and the numbers of distinct premises,
distinct hypotheses and examples, all over the training split.  Lengths are in RoBERTa
tokens with the two special tokens.  As in the released code, LawngNLI's premises are
those without citations and with nothing prepended.
"""

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from lextables.papers.lawngnli.dataset.labels import LABELS, TRAIN
from lextables.pipeline.dataset import Row, batches, read, read_table

PERCENTILES = (10, 25, 50, 75, 90)
NEGATION_WORDS = frozenset(
    "no not never none nobody nothing neither nor cannot".split()
)
NEGATION_PART = "n't"
# Only a text in which one of the words has no letter at either side can have such a
# token: of the words that NLTK cuts in two, in any case of letters, "cannot" alone
# gives one.
_MAYBE = re.compile(
    rf"(?<![A-Za-z])(?:{'|'.join(sorted(NEGATION_WORDS))})(?![A-Za-z])|(?i:cannot)"
)
Count = Callable[[str], int]


def has_negation_word(hypothesis: str) -> bool:
    """Return whether a hypothesis has one of Table 2's negation words or "n't".

    As in the released code, the words are NLTK's Treebank tokens and case matters ("No"
    is not one of them); but the text is not cut into sentences first, so a full stop
    that NLTK leaves on a word is taken off.
    """
    if NEGATION_PART in hypothesis:
        return True
    if not _MAYBE.search(hypothesis):
        return False
    from nltk.tokenize import (
        word_tokenize,
    )  # slow to import, and Tables 3 and 4 do not need it

    return any(
        word.rstrip(".") in NEGATION_WORDS
        for word in word_tokenize(hypothesis, preserve_line=True)
    )


@dataclass(frozen=True)
class DatasetStatistics:
    """One column of Table 2; lengths in tokens, shares from 0 to 1.

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
    rows: Iterable[Row], length: Count
) -> dict[tuple[str, str], DatasetStatistics]:
    """Return LawngNLI's four columns of Table 2, keyed (premise, subset), in one pass
    over ``rows``.

    Premise is "long" or "short" and subset "analysis" or "full".  Rows carry ``split``,
    ``analysis``, ``label``, ``hypothesis``, ``long_premise`` and ``short_premise``,
    twins among them; only those of the training split count.  ``length`` gives a text's
    length in tokens (`TokenCounter.sequence_length`); it is asked once for each
    distinct text.  Percentiles are numpy's, linear between two lengths.  A label
    without examples has the share nan; without any row, so have all.  Memory: 16 bytes
    and a count for each distinct text, and 4 bytes a row.
    """
    lengths = _Cached(length)
    keys = product(("long", "short"), ("analysis", "full"))
    columns = {key: _Gathered(lengths) for key in keys}
    for row in rows:
        if row["split"] != TRAIN:
            continue
        for (premise, subset), gathered in columns.items():
            if subset == "full" or row["analysis"]:
                gathered.add(row[f"{premise}_premise"], row["hypothesis"], row["label"])
    return {key: gathered.statistics() for key, gathered in columns.items()}


def with_long_premises(data: Path) -> Iterator[Row]:
    """Yield the examples in the folder ``data``, sorted by premise: one long premise is
    in memory.
    """
    examples = sorted(
        read(data / "examples.parquet"),
        key=lambda row: (row["cited_case_id"], row["example_id"], row["is_twin"]),
    )
    premises = read(data / "long_premises.parquet", ["case_id", "text"])
    premise: Mapping[str, object] = {"case_id": None}
    for row in examples:
        while premise["case_id"] != row["cited_case_id"]:
            premise = next(premises)
        yield row | {"long_premise": premise["text"]}


def of_pairs(folder: Path) -> DatasetStatistics:
    """Return the column of the public NLI data set in ``folder`` (`nli.schema`), of
    training pairs.

    A pair that training repeats counts that many times, as in the paper's ANLI.
    Memory: 21 bytes a text and 9 a pair.  A hypothesis is searched for negation words
    once.
    """
    texts = folder / "texts.parquet"
    text_table = read_table(texts, ["text_id", "tokens"])
    ids = text_table["text_id"].to_numpy().astype("S16")
    tokens = text_table["tokens"].to_numpy()
    (head,) = read(folder / "heads.parquet")
    premises, hypotheses, labels = _training(folder / "examples.parquet", ids)
    is_hypothesis = np.zeros(len(ids), dtype=bool)
    is_hypothesis[hypotheses] = True
    flagged_texts = zip(is_hypothesis, read(texts, ["text"]), strict=True)
    negation = np.array(
        [flag and has_negation_word(row["text"]) for flag, row in flagged_texts],
        dtype=bool,
    )
    return DatasetStatistics(
        tuple(map(float, np.percentile(tokens[premises], PERCENTILES)))
        if len(premises)
        else (),
        float(tokens[hypotheses].mean()) if len(hypotheses) else None,
        {
            answer: float(negation[hypotheses[labels == label]].mean())
            for label, answer in enumerate(head["answers"])
            if (labels == label).any()
        },
        len(np.unique(premises)),
        int(is_hypothesis.sum()),
        len(premises),
        tuple(head["answers"]),
    )


def _training(
    examples: Path, ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The training pairs: places in the sorted ``ids`` of premises and of hypotheses,
    and labels.
    """
    parts = []
    for batch in batches(examples, ["split", "text_id", "pair_id", "label"]):
        rows = batch.filter(pc.equal(batch["split"], TRAIN))
        places = (
            np.searchsorted(
                ids, rows[name].to_numpy(zero_copy_only=False).astype("S16")
            ).astype(np.int32)
            for name in ("text_id", "pair_id")
        )
        parts.append((*places, rows["label"].to_numpy().astype(np.int8)))
    premises, hypotheses, labels = map(np.concatenate, zip(*parts, strict=True))
    return premises, hypotheses, labels


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


class _Cached:
    """Counts, each computed once per distinct text."""

    def __init__(self, length: Count) -> None:
        self._length = length
        self._known = dict[bytes, int]()

    def __call__(self, text: str) -> int:
        key = _key(text)
        if key not in self._known:
            self._known[key] = self._length(text)
        return self._known[key]


class _Gathered:
    def __init__(self, length: Count) -> None:
        self._length = length
        self._premises: set[bytes] = set()
        self._hypotheses: set[bytes] = set()
        self._premise_lengths = array("i")
        self._hypothesis_tokens = 0
        self._by_label = {label: [0, 0] for label in LABELS}

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
        percentiles = (
            np.percentile(self._premise_lengths, PERCENTILES) if examples else ()
        )
        return DatasetStatistics(
            tuple(map(float, percentiles)),
            self._hypothesis_tokens / examples if examples else None,
            {label: hits / n for label, (hits, n) in self._by_label.items() if n},
            len(self._premises),
            len(self._hypotheses),
            examples,
        )
