"""LawngNLI, Appendices A.1.4, A.1.5 and A.1.8: labels, balance and split.

Pivotal negation is a negation that decides what a hypothesis states: without it the
hypothesis states the opposite.

The seeded draw depends on names and never on the order of rows.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from itertools import cycle, islice

from lextables.pipeline.dataset import Row

ENTAIL, NEUTRAL, CONTRADICT = LABELS = ("entail", "neutral", "contradict")
OPPOSITE = {ENTAIL: CONTRADICT, CONTRADICT: ENTAIL, NEUTRAL: NEUTRAL}

# The longest premise, in RoBERTa tokens with its two special tokens, that the paper's
# models read whole. Table 2 settles which text is measured: the median of the full set
# (3,692) is the 90th percentile of the analysis subset (3,693), and the subset is 56 %
# of the set, which holds only if the cut was made on the lengths that Table 2 prints:
# citations removed, nothing prepended.
ANALYSIS_TOKENS = 4096

# The groups that are made equal in size (A.1.8).  The first has Entail with pivotal
# negation and Contradict without, the second the reverse: an example and its twin are
# in the same group.
FROM_NEGATED = "entail+negation, contradict+nonnegation"
FROM_PLAIN = "contradict+negation, entail+nonnegation"
NEUTRALS = "neutral"
GROUPS = (FROM_NEGATED, FROM_PLAIN, NEUTRALS)

TRAIN, VAL, TEST = SPLITS = ("train", "val", "test")
VAL_SHARE = TEST_SHARE = 0.05
# The test share of a small data set is larger; else the test could not distinguish
# models.
SMALL_TEST_SHARE = 0.3
MIN_TEST = 300  # test examples, with twins, below which a data set is small


def draw(seed: int, *names: object) -> int:
    """Return a whole number in [0, 2**64) that depends on ``seed`` and ``names`` alone.

    Sorting by it is a random order that needs no generator, so it is the same for any
    input order and any number of shards.
    """
    text = "\0".join([str(seed), *map(str, names)])
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big")


def assign_labels(rows: Iterable[Row], seed: int) -> dict[str, str]:
    """Return a label for each ``example_id``, a third of each stratum each (Appendix
    A.1.4).

    A stratum is the jurisdiction (a state, or the federal courts) crossed with
    ``negated``, whether the hypothesis holds pivotal negation.  "Cases from each state"
    are read as the cases that the parentheticals come from.  Inside a stratum the
    examples are put in seeded random order and dealt the three labels in turn; the
    order of the three is itself drawn for each stratum, so that the one or two examples
    left over by the division favour no label over many strata.  The released code does
    not show this step.
    """
    strata: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for row in rows:
        stratum = row["citing_jurisdiction"], bool(row["negated"])
        strata[stratum].append(row["example_id"])
    assigned: dict[str, str] = {}
    for stratum, ids in sorted(strata.items()):
        labels = cycle(_shuffled(LABELS, seed, "label order", *stratum))
        for example_id in _shuffled(ids, seed, "label"):
            assigned[example_id] = next(labels)
    return dict(sorted(assigned.items()))


def _shuffled(names: Iterable[str], seed: int, *purpose: object) -> list[str]:
    """Return ``names`` in a random order that depends on the seed and the purpose."""
    return sorted(names, key=lambda name: (draw(seed, *purpose, name), name))


def contradicted(row: Row) -> Row:
    """Return ``row`` with ``hypothesis`` and ``twin`` exchanged, and ``negated``
    inverted.

    The contradiction algorithm removes pivotal negation where it is and adds it where
    it is not, so one of the two hypotheses is negated and the other is not (Appendix
    A.1.5).
    """
    return {
        **row,
        "hypothesis": row["twin"],
        "twin": row["hypothesis"],
        "negated": not row["negated"],
    }


def labelled(row: Row, label: str) -> Row:
    """Return an Entail example converted to ``label``, with the label in it (Appendices
    A.1.4, A.1.5).

    A Contradict example takes the twin as its hypothesis.  A Neutral one keeps its
    hypothesis, and waits for another premise
    (`lextables.papers.lawngnli.premises.neutralization`).
    """
    if label not in LABELS:
        raise ValueError(f"label is {label!r}, not one of {', '.join(LABELS)}")
    if label == CONTRADICT:
        row = contradicted(row)
    return {**row, "label": label}


def closed_group(label: str, negated: bool) -> str:
    """Return the group of an example; its twin is in the same one (Appendix A.1.8).

    ``negated`` is about the final hypothesis, after any conversion to Contradict.
    """
    if label == NEUTRAL:
        return NEUTRALS
    return FROM_NEGATED if (label == ENTAIL) == negated else FROM_PLAIN


def split_sizes(n: int, test_share: float = TEST_SHARE) -> dict[str, int]:
    """Return how many of ``n`` examples go to each split: 5 % val and the test's share,
    rounded half up.
    """
    val, test = (int(n * share + 0.5) for share in (VAL_SHARE, test_share))
    return {TRAIN: n - val - test, VAL: val, TEST: test}


def balance(
    rows: Iterable[Row], seed: int, test_share: float | None = TEST_SHARE
) -> dict[str, str]:
    """Return the split of each ``example_id`` that is kept (Appendix A.1.8); the others
    are dropped.

    Rows carry ``example_id``, ``label``, ``negated`` and ``analysis``.  Inside the
    analysis subset and inside the rest, each of the three groups is cut by seeded
    random draw to the size of the smallest, and then split: 5 % for validation,
    ``test_share`` for the test (in the paper 5 % too), the rest for training.  Without
    a ``test_share`` it is the paper's, or `SMALL_TEST_SHARE` if that would give fewer
    than `MIN_TEST` test examples.  A group with no example at all empties its subset.
    """
    cells: dict[tuple[bool, str], list[str]] = defaultdict(list)
    for row in rows:
        group = closed_group(row["label"], row["negated"])
        cells[bool(row["analysis"]), group].append(row["example_id"])
    smallest = {}
    for analysis in (False, True):
        smallest[analysis] = min(len(cells[analysis, group]) for group in GROUPS)
    if test_share is None:
        examples = 2 * len(GROUPS) * sum(smallest.values())
        test_share = TEST_SHARE
        if examples * TEST_SHARE < MIN_TEST:
            test_share = SMALL_TEST_SHARE
    split_of: dict[str, str] = {}
    for (analysis, _), ids in cells.items():
        balanced_ids = _shuffled(ids, seed, "balance")[: smallest[analysis]]
        # A separate random order, so that the split does not depend on the cut.
        remaining = iter(_shuffled(balanced_ids, seed, "split"))
        for split, size in split_sizes(len(balanced_ids), test_share).items():
            split_of.update(dict.fromkeys(islice(remaining, size), split))
    return dict(sorted(split_of.items()))
