"""LawngNLI, Appendix A.1.4: which examples stay Entail and which become Neutral or Contradict.

Also the two things that every later step needs: the seeded draw, which depends on names and never on
the order of rows, and the conversion of an example by the contradiction algorithm's twin.
"""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]

ENTAIL, NEUTRAL, CONTRADICT = LABELS = ("entail", "neutral", "contradict")
OPPOSITE = {ENTAIL: CONTRADICT, CONTRADICT: ENTAIL, NEUTRAL: NEUTRAL}


def draw(seed: int, *names: object) -> int:
    """Return a whole number in [0, 2**64) that depends on ``seed`` and ``names`` alone.

    Sorting by it is a random order that needs no generator, so it is the same for any input order and
    any number of shards.
    """
    text = "\0".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def assign_labels(
    rows: Iterable[Row], seed: int, *, jurisdiction: str = "citing_jurisdiction"
) -> dict[Any, str]:
    """Return a label for each ``example_id``, a third of each stratum each (Appendix A.1.4).

    A stratum is the jurisdiction (a state, or the federal courts) crossed with ``negated``, whether
    the hypothesis holds pivotal negation.  "Cases from each state" are read as the cases that the
    parentheticals come from; ``jurisdiction`` names the column, for the other reading.  Inside a
    stratum the examples are put in seeded random order and dealt the three labels in turn; the order
    of the three is itself drawn for each stratum, so that the one or two examples left over by the
    division favour no label over many strata.  The released code does not show this step.
    """
    strata: dict[tuple[str, bool], list[Any]] = {}
    for row in rows:
        strata.setdefault((row[jurisdiction], bool(row["negated"])), []).append(row["example_id"])
    assigned: dict[Any, str] = {}
    for (place, negated), ids in sorted(strata.items()):
        order = sorted(LABELS, key=lambda label: draw(seed, "label order", place, negated, label))
        ids.sort(key=lambda example_id: (draw(seed, "label", example_id), example_id))
        for position, example_id in enumerate(ids):
            assigned[example_id] = order[position % len(order)]
    return dict(sorted(assigned.items()))


def contradicted(row: Row) -> dict[str, Any]:
    """Return ``row`` with its hypothesis and its ``twin`` exchanged, and ``negated`` turned round.

    The contradiction algorithm removes pivotal negation where it is and adds it where it is not, so
    one of the two hypotheses is negated and the other is not (Appendix A.1.5).
    """
    return {**row, "hypothesis": row["twin"], "twin": row["hypothesis"], "negated": not row["negated"]}


def labelled(row: Row, label: str) -> dict[str, Any]:
    """Return an Entail example converted to ``label``, with the label in it (Appendices A.1.4, A.1.5).

    A Contradict example takes the twin as its hypothesis.  A Neutral one keeps its hypothesis, and
    waits for another premise (`lextables.papers.lawngnli.neutralization`).
    """
    if label not in LABELS:
        raise ValueError(f"label is {label!r}, not one of {', '.join(LABELS)}")
    return {**(contradicted(row) if label == CONTRADICT else row), "label": label}
