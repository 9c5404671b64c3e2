"""Measure how much of CUAD's test contracts also occurs in a training contract, by sequences of eight words.

Sequences are compared in lower case and across line breaks: a contract may occur in both splits with
different line breaks.  The script prints the test contracts that share most with one training contract, and
how many share more than half and more than a fifth.

    PYTHONPATH=workflow python bench/measure_cuad_split.py ../shared/mirror/cuad/data.zip
"""

import argparse
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

WORDS = 8
MEMBERS = {"train": "train_separate_questions.json", "test": "test.json"}


def texts(path: Path) -> dict[str, dict[str, str]]:
    """Return {split: {title: text}} of the released question files."""
    found = {}
    with zipfile.ZipFile(path) as archive:
        for split, name in MEMBERS.items():
            documents = json.loads(archive.read(name))["data"]
            found[split] = {one["title"]: one["paragraphs"][0]["context"] for one in documents}
    return found


def runs(text: str) -> set[tuple[str, ...]]:
    """Return the sequences of `WORDS` words in a text."""
    words = text.lower().split()
    return set(zip(*(words[start:] for start in range(WORDS)), strict=False))


def shared(found: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[float, str]]:
    """Return {test contract: (largest share of its sequences in one training contract, that contract)}."""
    sizes, holders = {}, defaultdict(list)
    for title, text in found["test"].items():
        of_test = runs(text)
        sizes[title] = len(of_test)
        for run in of_test:
            holders[run].append(title)
    counts: dict[str, Counter[str]] = {title: Counter() for title in sizes}
    for training, text in found["train"].items():
        for run in runs(text):
            for title in holders.get(run, ()):
                counts[title][training] += 1
    nearest = {
        title: max(of.items(), key=lambda item: item[1], default=("", 0)) for title, of in counts.items()
    }
    return {title: (count / sizes[title], training) for title, (training, count) in nearest.items()}


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("release", type=Path, help="CUAD's data.zip")
    arguments.add_argument("--first", type=int, default=10, help="contracts to print")
    given = arguments.parse_args()
    found = sorted(shared(texts(given.release)).items(), key=lambda item: -item[1][0])
    for title, (share, training) in found[: given.first]:
        print(f"{100 * share:5.1f} % of {title} occur in {training}")
    for least in (0.5, 0.2):
        print(f"more than {least:.0%}: {sum(share > least for _, (share, _) in found)} of {len(found)}")


if __name__ == "__main__":
    main()
