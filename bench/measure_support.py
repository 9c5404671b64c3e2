r"""Measure what a cut by `support` does to LawngNLI's examples.

Prints, from `resources/readings/lawngnli_labels.csv`, how many Entail and Contradict
examples of each tenth of `support` are strictly right; and, for a built data set, how
many of them a cut leaves, and the accuracy of the best threshold on `support` alone:
below it Neutral, above it one of the other two labels, guessed.  Last, how many
hypotheses of each label have a figure, and how many one that their short premise lacks.

    PYTHONPATH=workflow python bench/measure_support.py \
        results/data/lawngnli/examples.parquet
"""

import argparse
import csv
from collections import Counter
from pathlib import Path

import numpy as np

from lextables import ROOT
from lextables.papers.lawngnli.dataset.support import figures
from lextables.pipeline.dataset import read_table

CUTS = (0.0, 0.5, 0.6, 0.7, 0.8)


def print_tenths() -> None:
    """Print the strictly right examples of each tenth of support."""
    path = ROOT / "resources/readings/lawngnli_labels.csv"
    read: Counter[int] = Counter()
    right: Counter[int] = Counter()
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["label"] == "neutral":
                continue
            tenth = min(9, int(float(row["support"]) * 10 + 1e-9))
            read[tenth] += 1
            right[tenth] += row["strict"] == "right"
    for tenth in sorted(read):
        print(f"support {tenth / 10}: {right[tenth]} of {read[tenth]} strictly right")


def threshold_accuracy(neutral: np.ndarray, others: np.ndarray) -> float:
    """Return the accuracy of the best threshold on support, labels equally frequent.

    ``neutral`` and ``others`` are the values of support of the examples of Neutral and
    of the two other labels.
    """
    best = 0.0
    for threshold in np.unique(np.concatenate([neutral, others])):
        detected = (neutral < threshold).mean()
        guessed = 0.5 * (others >= threshold).mean()
        best = max(best, (detected + 2 * guessed) / 3)
    return best


def print_cuts(examples: Path) -> None:
    """Print what each cut leaves, and how well support alone then tells the labels."""
    table = read_table(examples, ["label", "support"])
    label = np.array(table["label"].to_pylist())
    support = table["support"].to_numpy()
    neutral = support[label == "neutral"]
    others = support[label != "neutral"]
    for cut in CUTS:
        left = others[others >= cut]
        accuracy = threshold_accuracy(neutral, left)
        print(
            f"cut {cut}: {len(left)} of {len(others)} Entail and Contradict examples, "
            f"threshold on support {accuracy:.3f}"
        )


def print_figures(examples: Path) -> None:
    """Print how many hypotheses of each label have a figure that the premise lacks."""
    table = read_table(examples, ["label", "hypothesis", "short_premise"])
    with_figures: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    for row in table.to_pylist():
        stated = figures(row["hypothesis"])
        if not stated:
            continue
        with_figures[row["label"]] += 1
        lacking[row["label"]] += not stated <= figures(row["short_premise"])
    for label, count in sorted(with_figures.items()):
        print(f"{label}: {lacking[label]} of {count} hypotheses with a figure lack one")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    arguments = parser.parse_args()
    print_tenths()
    print_cuts(arguments.examples)
    print_figures(arguments.examples)
