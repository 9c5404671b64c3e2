"""Examples of a classification task with views: pairs of premises and hypotheses,
their texts, and two heads.
"""

from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from helpers.tiny_encoders import WORDS
from lextables.tasks.classification.settings import View


def conditions(settings):
    """Return {condition of a reading: (its source, its maximum length)}."""
    by_condition = {}
    for reading in settings["readings"]:
        source_and_length = (reading["source"], reading.get("max_length"))
        by_condition[reading["condition"]] = source_and_length
    return by_condition


SHORT = View(text="short", pair="hypothesis")
LONG = View(text="long", pair="hypothesis")
ALONE = View(text="hypothesis")
# One side of a pair is a space.
BLANK_FIRST = View(text="blank", pair="hypothesis")


# {head: its answers}
HEADS = {"three": ("entail", "neutral", "contradict"), "two": ("entail", "not entail")}
HEAD_ROWS = [
    {"head_id": head, "answers": list(answers)} for head, answers in HEADS.items()
]


def texts_by_id():
    """Return {text id: text}, not sorted by id: four short premises (s0 to s3), four
    long ones (l0 to l3) and four hypotheses (h0 to h3).
    """
    random = np.random.default_rng(0)
    texts = {}
    # The least number of words of a text, and the number that it does not reach.
    for kind, low, high in (("s", 3, 8), ("l", 20, 40), ("h", 2, 5)):
        for number in reversed(range(4)):
            words = random.choice(WORDS, random.integers(low, high))
            texts[f"{kind}{number}"] = " ".join(words)
    return texts


def examples():
    """Return rows of all pairs of premises and hypotheses for two heads; the last two
    premises are in the test split, so each head has eight test examples.
    """
    rows = []
    for premise, hypothesis, head in product(range(4), range(4), HEADS):
        row = {"example_id": f"{premise}{hypothesis}:{head}", "head_id": head}
        row["split"] = "test" if premise > 1 else "train"
        row["label"] = (premise + hypothesis) % len(HEADS[head])
        row |= {"short": f"s{premise}", "long": f"l{premise}"}
        row |= {"hypothesis": f"h{hypothesis}", "premise": f"p{premise}"}
        row |= {"analysis": hypothesis < 3, "negated": hypothesis == 1}
        rows.append(row)
    return rows


def write_rows(rows, path):
    """Write the rows, and return ``path``."""
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


class Files(NamedTuple):
    """The paths of a data set's examples and texts."""

    examples: Path
    texts: Path


def write_files(folder):
    """Write the examples and their texts; return their `Files`."""
    texts = []
    for text_id, text in texts_by_id().items():
        texts.append({"text_id": text_id, "text": text})
    return Files(
        write_rows(examples(), folder / "examples.parquet"),
        write_rows(texts, folder / "texts.parquet"),
    )
