"""Text that data sets share: the words of a unit in n-grams that also occur in another
split.

An n-gram ("run") is `RUN` consecutive words of one unit (a clause, a contract, a
premise).  Words are compared without case and punctuation, so line breaks and layout
make no difference, and all numbers are the same word, so a clause is recognised with
other amounts and dates.  A run of fewer than `DISTINCT` different words, as in a table
of numbers, does not count.  Runs are compared by 64-bit hashes: against a hundred
million runs, about one run in 10^11 is a false match.

Hashes are stored on disk; a job has a few arrays of `CHUNK` hashes in memory.
"""

import hashlib
import itertools
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pandas as pd
from numpy.lib.stride_tricks import sliding_window_view

from lextables.pipeline.errors import BadInput

RUN = 20  # words
DISTINCT = 10  # different words of a run
CHUNK = 4_000_000  # hashes
HALF = 0.5  # of a unit's words: the nearest unit is determined from this share on
SAMPLE = 100  # shared runs of a unit, by which its nearest unit is determined
ALL = "all"  # all splits of a data set together

WORD = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*")
FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Powers of the factor, modulo 2^64.
MULTIPLIERS = np.multiply.accumulate([np.uint64(1), *[FACTOR] * (RUN - 1)])


class WordHashes(dict[str, int]):
    """{word: its 64-bit hash}; all numbers have the hash of `0`."""

    def __missing__(self, word: str) -> int:
        word_or_zero = "0" if word[0].isdigit() else word
        digest = hashlib.blake2b(word_or_zero.encode(), digest_size=8).digest()
        self[word] = value = int.from_bytes(digest)
        return value

    def of(self, text: str) -> list[int]:
        """Return the hashes of the words of a text, in order."""
        plain = unicodedata.normalize("NFKC", text).lower()
        return [self[word] for word in WORD.findall(plain)]


def run_hashes(text: str, hashes: WordHashes) -> tuple[int, np.ndarray]:
    """Return the number of words of a text and the hash of each of its runs, uint64
    (words - RUN + 1,).

    The hash is 0 for a run of fewer than `DISTINCT` different words.  A text of fewer
    than `RUN` words has no run.
    """
    words = hashes.of(text)
    word_hashes = np.array(words, np.uint64)
    if len(words) < RUN:
        return len(words), np.zeros(0, np.uint64)
    totals = np.convolve(word_hashes, MULTIPLIERS[::-1], mode="valid")
    # A word is new in a run if its previous occurrence is before the run.
    previous = sliding_window_view(_previous_places(word_hashes), RUN)
    starts = np.arange(len(totals))
    is_new = previous < starts[:, np.newaxis]
    totals[is_new.sum(axis=1) < DISTINCT] = 0
    return len(words), totals


def _previous_places(word_hashes: np.ndarray) -> np.ndarray:
    """Return the place of the previous occurrence of each word, -1 for the first; int64
    (words,).
    """
    order = np.argsort(word_hashes, kind="stable")
    is_repeated = np.diff(word_hashes[order]) == 0
    earlier = order[:-1]
    later = order[1:]
    previous = np.full(len(word_hashes), -1)
    previous[later[is_repeated]] = earlier[is_repeated]
    return previous


@dataclass
class Split:
    """The units of a split with at least one run, and the file of their runs' hashes,
    in order.

    ``short`` counts the units without a run, which are left out.
    """

    dataset: str
    split: str
    path: Path
    units: list[str] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    short: int = 0

    def add(self, unit: str, words: int, runs: np.ndarray, file: BinaryIO) -> None:
        """Add a unit, and its runs to the open file."""
        if len(runs):
            self.units.append(unit)
            self.words.append(words)
            file.write(runs.tobytes())
        else:
            self.short += 1

    @property
    def starts(self) -> np.ndarray:
        """The index of each unit's first run, and the end; int64 (units + 1,)."""
        runs = np.array(self.words, np.int64) - RUN + 1
        return np.concatenate([[0], np.cumsum(runs)])

    def hashes(self) -> np.ndarray:
        """The hashes of all runs in order, mapped from disk."""
        if not self.units:
            return np.zeros(0, np.uint64)
        return np.memmap(self.path, np.uint64, "r")

    def chunks(self) -> list[Path]:
        """Files with the sorted, different hashes of each `CHUNK` runs; written when
        they are first used.
        """
        hashes = self.hashes()
        files = []
        for start in range(0, len(hashes), CHUNK):
            file = self.path.with_suffix(f".{start}.npy")
            files.append(file)
            if not file.exists():
                np.save(file, np.unique(hashes[start : start + CHUNK]))
        return files

    def contains(self, hashes: np.ndarray) -> np.ndarray:
        """Return which of the sorted hashes occur, bool (hashes,); 0 never does."""
        present = np.zeros(len(hashes), bool)
        for file in self.chunks():
            chunk = np.load(file, mmap_mode="r")
            places = np.searchsorted(chunk, hashes)
            nearest = chunk[np.minimum(places, len(chunk) - 1)]
            present = present | (nearest == hashes)
        return present & (hashes != 0)

    def batches(self) -> Iterator[slice]:
        """Slices of the units, each of at most `CHUNK` words or of one unit."""
        start = 0
        total = 0
        for unit, count in enumerate(self.words):
            if total and total + count > CHUNK:
                yield slice(start, unit)
                start = unit
                total = 0
            total += count
        if self.units:
            yield slice(start, len(self.units))


def index(
    dataset: str, texts: Iterable[tuple[str, str, str]], folder: Path
) -> list[Split]:
    """Hash the texts of a data set into files of ``folder``, and return its splits in
    order of their names.

    Texts are (split, unit, text).
    """
    hashes = WordHashes()
    splits: dict[str, Split] = {}
    files = {}
    with ExitStack() as stack:
        for split, unit, text in texts:
            if split not in splits:
                path = folder / f"{dataset}.{len(splits)}.runs"
                splits[split] = Split(dataset, split, path)
                files[split] = stack.enter_context(path.open("wb"))
            words, runs = run_hashes(text, hashes)
            splits[split].add(unit, words, runs, files[split])
    return [splits[split] for split in sorted(splits)]


def compare(splits: Sequence[Split]) -> Iterator[pd.DataFrame]:
    """Yield the units of each split that share a run with another split, or all splits
    of another data set.

    Columns: dataset, split, unit, other_dataset, other_split, ``words`` of the unit,
    and how many of them are ``shared``: in a run that occurs in the other split.  If
    half are, ``nearest`` is the unit of the other split with most of the shared runs,
    and ``nearest_share`` the part of the unit's runs that it has, both estimated from
    `SAMPLE` of the shared runs.

    Raises `BadInput` for fewer than two splits.
    """
    if len(splits) < 2:
        names = ", ".join(f"{split.dataset}, {split.split}" for split in splits)
        raise BadInput(
            f"a single split ({names}) has nothing to be compared with",
            where="config key papers",
            do="add a paper",
        )
    for split in splits:
        others = [other for other in splits if other is not split]
        for batch in split.batches():
            yield from _compare_batch(split, batch, others)


def _compare_batch(
    split: Split, batch: slice, others: Sequence[Split]
) -> Iterator[pd.DataFrame]:
    """Yield the frames of `compare` for a batch of units of a split."""
    starts = split.starts[batch.start : batch.stop + 1]
    runs = np.array(split.hashes()[starts[0] : starts[-1]])
    starts = starts - starts[0]
    word_counts = np.array(split.words[batch])
    names = np.array(split.units[batch], object)
    for dataset, name, candidates, is_shared in _comparisons(split, runs, others):
        shared = shared_words(is_shared, starts, word_counts)
        (at,) = np.nonzero(shared)
        columns = {
            "dataset": split.dataset,
            "split": split.split,
            "unit": names[at],
            "other_dataset": dataset,
            "other_split": name,
            "words": word_counts[at],
            "shared": shared[at],
        }
        is_half = shared >= HALF * word_counts
        nearest = _nearest(runs, starts, is_shared, np.flatnonzero(is_half), candidates)
        frame = pd.DataFrame(columns, index=at)
        yield frame.join(nearest).reset_index(drop=True)


def _comparisons(
    split: Split, runs: np.ndarray, others: Sequence[Split]
) -> Iterator[tuple[str, str, list[Split], np.ndarray]]:
    """Yield what the ``runs`` of a split are compared with: each other split, and all
    splits of each other data set.

    Yields (data set, its split or `ALL`, the splits compared with, which of the runs
    occur in one of them); the last one is bool (runs,).
    """
    different, places = np.unique(runs, return_inverse=True)
    for dataset, group in itertools.groupby(others, key=lambda other: other.dataset):
        compared = []
        in_any = np.zeros(len(runs), bool)
        for other in group:
            is_shared = other.contains(different)[places]
            yield dataset, other.split, [other], is_shared
            in_any = in_any | is_shared
            compared.append(other)
        if dataset != split.dataset and len(compared) > 1:
            yield dataset, ALL, compared, in_any


def shared_words(
    is_shared: np.ndarray, starts: np.ndarray, word_counts: np.ndarray
) -> np.ndarray:
    """Return how many words of each unit are in one of its found runs, int64 (units,).

    ``is_shared``: which runs of all units were found, bool (runs,).  ``starts``: the
    first run of each unit and the end, int64 (units + 1,).  ``word_counts``: the number
    of words of each unit, int64 (units,).
    """
    unit_of_run = np.repeat(np.arange(len(word_counts)), np.diff(starts))
    # A unit has RUN - 1 words more than runs.
    extra_words = unit_of_run[is_shared] * (RUN - 1)
    first_word = np.flatnonzero(is_shared) + extra_words
    depth = np.zeros(word_counts.sum() + 1, np.int64)
    depth[first_word] += 1
    depth[first_word + RUN] -= 1
    is_found = np.cumsum(depth[:-1]) > 0
    starts_of_units = np.cumsum(word_counts) - word_counts
    return np.add.reduceat(is_found, starts_of_units, dtype=np.int64)


def _nearest(
    runs: np.ndarray,
    starts: np.ndarray,
    is_shared: np.ndarray,
    units: np.ndarray,
    others: Sequence[Split],
) -> pd.DataFrame:
    """Return the columns ``nearest`` and ``nearest_share`` of `compare` for the
    ``units``, by their numbers.

    ``runs`` are the hashes of the runs of all units, ``starts`` and ``is_shared`` as in
    `shared_words`.
    """
    samples = []
    shares = {}
    for unit in units:
        part = slice(starts[unit], starts[unit + 1])
        shared = np.unique(runs[part][is_shared[part]])
        size = min(SAMPLE, len(shared))
        sampled = np.linspace(0, len(shared) - 1, size, dtype=int)
        columns = {"hash": shared[sampled], "unit": unit}
        samples.append(pd.DataFrame(columns))
        # The part of the unit's runs that each sampled run stands for.
        shares[unit] = is_shared[part].mean() / size
    if not samples:
        return pd.DataFrame(
            {
                "nearest": pd.Series(dtype="string"),
                "nearest_share": pd.Series(dtype=float),
            }
        )
    sample = pd.concat(samples)
    different = np.unique(sample.hash)
    matches = sample.merge(_owners(different, others), on="hash")
    sizes = matches.groupby(["unit", "other", "owner"]).size()
    counts = sizes.reset_index(name="runs")
    # Most runs first; of several units the first.
    counts = counts.sort_values("runs", ascending=False, kind="stable")
    best = counts.drop_duplicates("unit").set_index("unit")
    names = []
    for other, owner in best[["other", "owner"]].to_numpy():
        names.append(others[other].units[owner])
    columns = {
        "nearest": pd.Series(names, best.index, dtype="string"),
        "nearest_share": best.runs * pd.Series(shares),
    }
    return pd.DataFrame(columns)


def _owners(hashes: np.ndarray, others: Sequence[Split]) -> pd.DataFrame:
    """Return which units of ``others`` have each hash.

    Columns: ``hash``, ``other``, the number of the split, and ``owner``, the number of
    the unit in it.
    """
    frames = []
    for number, other in enumerate(others):
        all_hashes = other.hashes()
        starts = other.starts
        for first in range(0, len(all_hashes), CHUNK):
            chunk = all_hashes[first : first + CHUNK]
            (at,) = np.nonzero(np.isin(chunk, hashes))
            starts_up_to = np.searchsorted(starts, first + at, side="right")
            columns = {"hash": chunk[at], "other": number, "owner": starts_up_to - 1}
            frames.append(pd.DataFrame(columns))
    return pd.concat(frames).drop_duplicates()
