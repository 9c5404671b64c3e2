"""The order of a stored classification head's labels, by their names."""

import re
from collections.abc import Sequence

from lextables.pipeline.errors import BadInput

# transformers' name of a label to which a configuration gives none.
_NO_NAME = re.compile(r"LABEL_\d+")


def are_nameless(labels: Sequence[str]) -> bool:
    """Whether a configuration names none of these labels."""
    return all(_NO_NAME.fullmatch(label) for label in labels)


def label_columns(
    labels: Sequence[str], answers: Sequence[str], where: str
) -> list[int]:
    """Return the column of each of ``answers`` among the ``labels`` of a head.

    A label is an answer if its name is, or begins with, the answer (entailment for
    entail), whatever its case; ``_`` and ``-`` are spaces.  Answers of several heads
    may repeat if the labels already have their order.  Raises `BadInput`, with
    ``where``, unless each label is one answer.
    """
    names = [_plain(label) for label in labels]
    expected = [_plain(answer) for answer in answers]
    if len(names) == len(expected):
        pairs = zip(names, expected, strict=True)
        if all(name.startswith(answer) for name, answer in pairs):
            return list(range(len(names)))
    columns = []
    for answer in expected:
        same = [i for i, name in enumerate(names) if name == answer]
        longer = [i for i, name in enumerate(names) if name.startswith(answer)]
        columns.append(same or longer)
    chosen = [matches[0] for matches in columns if len(matches) == 1]
    if sorted(chosen) != list(range(len(names))) or len(chosen) != len(expected):
        what = f"its labels are {', '.join(labels)}"
        do = f"use a model whose id2label has {', '.join(answers)}"
        raise BadInput(what, where=where, do=do)
    return chosen


def _plain(name: str) -> str:
    """Return a name as it is compared."""
    return name.lower().replace("_", " ").replace("-", " ")
