"""How well the linear baseline of the task of answers learns from contracts what MAUD's annotators answered.

    PYTHONPATH=workflow python bench/measure_linear_answers.py results/data/maud

The privacy policy corpus's own policies are not public with its codings here, so how many paragraphs describe
a document (`best` in resources/papers/privacy.yaml) was chosen on these: some 150 merger agreements, cut into
pieces of eighty words or more, and the questions that the mirror has answers to.  The loss is that of the
privacy corpus, against answers smoothed by 0.1; `prior` knows the other contracts' answers alone.
"""

import argparse
import re
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from lextables.metrics.soft_labels import binary_cross_entropy, smoothed
from lextables.pipeline.dataset import read
from lextables.tasks.answers.collection import Paragraph, Question, Shares
from lextables.tasks.answers.learning import Answers, answers
from lextables.tasks.answers.prior import prior, random
from lextables.tasks.answers.space import of_words

PIECE = 80  # words
BEST = ([1], [2], [3], [5], [20], [2, 20], [3, 40])
SETTINGS = {"penalties": [0.001, 0.01, 0.1, 1, 10, 100], "pseudo": 2, "smoothing": 0.1, "folds": 5}


def answered(data: Path) -> tuple[dict[str, Question], Shares]:
    """The questions that there are answers to, and these by contract."""
    rows = [row for row in read(data / "examples.parquet") if row["contract"]]
    heads = {row["head_id"]: row for row in read(data / "questions.parquet")}
    questions, shares = {}, defaultdict(dict)
    for row in sorted(rows, key=lambda row: (row["head_id"], row["contract"])):
        name, head = row["head_id"], heads[row["head_id"]]
        wording = f"{head['question']} {head['text_type'] or ''}"
        questions[name] = Question(name, head["category"], wording, tuple(head["answers"]))
        found = shares[name].setdefault(row["contract"], np.zeros(len(head["answers"])))
        found[row["label"]] += 1
    return questions, {
        name: {one: counts / counts.sum() for one, counts in found.items()} for name, found in shares.items()
    }


def pieces(text: str) -> list[str]:
    """A contract at its blank lines and its clauses in brackets, joined up to `PIECE` words."""
    found, open_ = [], ""
    for part in re.split(r"\n\s*\n|(?<=[.;])\s+(?=\()", text):
        open_ = f"{open_} {' '.join(part.split())}".strip()
        if len(open_.split()) >= PIECE:
            found.append(open_)
            open_ = ""
    return [*found, *[open_][: len(open_)]]


def loss(found: Answers, shares: Shares, documents: set[str]) -> float:
    """The mean over the pairs of these documents."""
    each = [
        binary_cross_entropy(smoothed(shares[question][document][None], 0.1), given[None])[0]
        for (document, question), given in found.items()
        if document in documents
    ]
    return float(np.mean(each))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    data = parser.parse_args().data
    questions, shares = answered(data)
    texts = {row["contract_id"]: row["text"] for row in read(data / "contracts.parquet") if row["text"]}
    paragraphs = {
        name: [Paragraph(f"{name}/{place}", text) for place, text in enumerate(pieces(texts[name]))]
        for name in sorted(texts)
    }
    here = paragraphs.keys() & {document for found in shares.values() for document in found}
    print(f"{len(here)} contracts, {len(questions)} questions, {sum(map(len, paragraphs.values()))} pieces")
    print(f"random  {loss(random(shares), shares, here):.4f}")
    print(f"prior   {loss(prior(shares, pseudo=2, smoothing=0.1), shares, here):.4f}")
    start = time.process_time()
    words = of_words(paragraphs, questions)
    print(f"words of the pieces: {time.process_time() - start:.0f} s")
    for best in BEST:
        start = time.process_time()
        found, penalties = answers(words, shares, SETTINGS | {"best": best})
        seconds, lost = time.process_time() - start, loss(found, shares, here)
        print(f"best {best}  {lost:.4f}  penalties {[*penalties.values()]}  {seconds:.0f} s")


if __name__ == "__main__":
    main()
