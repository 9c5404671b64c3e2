"""Measure the lead of LawngNLI's column (6) over another, resampling whole opinions.

McNemar's test in the tables treats examples as independent, though twins share a premise and several pairs of
twins an opinion.  Here opinions are resampled with all their test examples.

    PYTHONPATH=workflow python bench/measure_gap.py results words overlap

``words`` and ``overlap`` are keys of linear models in the panel whose readings are in ``results``.
"""

import argparse
from pathlib import Path

import numpy as np

from lextables.papers.lawngnli.balance import TEST
from lextables.papers.lawngnli.pairs import NLI
from lextables.pipeline.dataset import Row, read
from lextables.tables.inputs import Scores, by_name
from lextables.tasks.classification.scoring import ANSWER

SIXTH = "long_bm25 > long_bm25"
OTHERS = ("short > long", "short > long_bm25", "short_bm25 > long_bm25", "long > long")
RESAMPLES = 10_000


def right(scores: Scores, condition: str, examples: list[Row]) -> np.ndarray:
    """Return whether the model answers each example right under a condition, 0 or 1 (examples,)."""
    found = [scores[ANSWER, f"{condition}, example: {row['example_id']}"][0] for row in examples]
    return np.array(found) == np.array([row["label"] for row in examples])


def gap(differences: np.ndarray, opinions: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the mean difference and its 95 % percentile interval over resampled ``opinions`` (examples,)."""
    _, places = np.unique(opinions, return_inverse=True)
    sums, counts = np.bincount(places, differences), np.bincount(places)
    drawn = np.random.default_rng(0).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return float(differences.mean()), np.percentile(means, [2.5, 97.5])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("results", type=Path)
    arguments.add_argument("models", nargs="+")
    given = arguments.parse_args()
    rows = read(given.results / "data/lawngnli_nli/examples.parquet")
    examples = [row for row in rows if row["split"] == TEST and row["head_id"] == NLI]
    opinions = np.array([row["premise"] for row in examples])
    print(f"{len(examples)} test examples of {len(set(opinions))} opinions")
    for model in given.models:
        folder = given.results / f"runs/lawngnli_nli/read/{model}/linear/seed0"
        scores = by_name(read(folder / "scores.parquet"))
        sixth = right(scores, SIXTH, examples).astype(float)
        for condition in OTHERS:
            mean, (low, high) = gap(sixth - right(scores, condition, examples), opinions)
            print(f"{model}: {SIXTH} beside {condition}: {mean:+.3f} ({low:+.3f} to {high:+.3f})")


if __name__ == "__main__":
    main()
