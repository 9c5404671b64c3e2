"""How well the linear baseline learns which pieces of contracts MAUD's annotators marked.

    PYTHONPATH=workflow python bench/measure_linear_marks.py results/data/maud_extraction

How marks are learnt (`marking` in resources/papers/privacy.yaml) was chosen on these 150 merger agreements
and 17 types of passages: the policies that the privacy corpus's marks are of are not here.  A piece of eighty
words or more is right where an annotated span touches it.  Each number is the mean over the types, as the
corpus's Table 3 has it over questions.
"""

import argparse
import re
import time
from collections import defaultdict
from itertools import product
from pathlib import Path

import numpy as np

from lextables.metrics import marks
from lextables.pipeline.dataset import read
from lextables.tasks.answers import marking
from lextables.tasks.answers.collection import Collection, Paragraph, Question
from lextables.tasks.answers.folds import fold
from lextables.tasks.answers.space import of_words

PIECE, FOLDS = 80, 5
SHOWN = ("F1", marks.BEST, marks.AREA, "precision", "recall")
TRIED = product((1, 2), (1e-5, 1e-6), (5, 10))


def pieces(text: str) -> list[tuple[int, int]]:
    """Where a contract is cut: at blank lines and clauses in brackets, into `PIECE` words or more."""
    found, start = [], 0
    ends = [match.end() for match in re.finditer(r"\n\s*\n|(?<=[.;])\s+(?=\()", text)]
    for end in (*ends, len(text)):
        if end == len(text) or len(text[start:end].split()) >= PIECE:
            found.append((start, end))
            start = end
    return found


def collected(data: Path) -> tuple[Collection, dict[str, set[str]]]:
    """The contracts in pieces, a question a type, and the pieces that a span of the type touches."""
    rows = {row["question_id"]: row for row in read(data / "questions.parquet")}
    spans = defaultdict(list)
    for answer in read(data / "answers.parquet"):
        row = rows[answer["question_id"]]
        spans[row["contract_id"]].append((row["category"], answer["start"], answer["end"]))
    asked = {row["category"]: row["question"] for row in rows.values()}
    questions = {name: Question(name, name, asked[name], ()) for name in sorted(asked)}
    paragraphs, marked = {}, defaultdict(set)
    for row in sorted(read(data / "contracts.parquet"), key=lambda row: row["contract_id"]):
        cuts = pieces(row["text"])
        names = [f"{row['contract_id']}/{place}" for place in range(len(cuts))]
        paragraphs[row["contract_id"]] = [
            Paragraph(name, row["text"][start:end]) for name, (start, end) in zip(names, cuts, strict=True)
        ]
        for category, first, last in spans[row["contract_id"]]:
            touched = (n for n, (start, end) in zip(names, cuts, strict=True) if first < end and last > start)
            marked[category] |= set(touched)
    return Collection(questions, {}, paragraphs), marked


def shown(data: Collection, right: np.ndarray, given: np.ndarray) -> str:
    """The scores of what is given, in per cent."""
    sizes = [len(those) for those in data.paragraphs.values()]
    of = np.repeat(np.arange(len(sizes)), sizes)
    questions = [
        marks.Marked(name, "", of, right[:, at], given[:, at]) for at, name in enumerate(data.questions)
    ]
    rows = marks.scores(questions, np.array([fold(name, FOLDS) for name in data.paragraphs]))
    values = {row["metric"]: 100 * row["value"] for row in rows if row["group"] == "all"}
    return ", ".join(f"{name} {values[name]:.1f}" for name in SHOWN)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    data, marked = collected(parser.parse_args().data)
    words, right = of_words(data.paragraphs, data.questions), marking.places(data, marked)
    print(f"{len(data.paragraphs)} contracts, {len(right)} pieces, {right.sum()} marks")
    print(f"overlap: {shown(data, right, marking.overlap(words))}")
    for longest, alpha, epochs in TRIED:
        start = time.process_time()
        settings = {"folds": FOLDS, "longest": longest, "least": 5, "alpha": alpha, "epochs": epochs}
        given = marking.learnt(data, words, right, settings, threads=2)
        seconds = time.process_time() - start
        print(
            f"longest {longest}, alpha {alpha}, epochs {epochs}: {shown(data, right, given)}  {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
