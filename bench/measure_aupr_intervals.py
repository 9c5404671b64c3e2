"""Coverage of the 95 % intervals of MAUD's AUPR on simulated test sets.

    PYTHONPATH=workflow python bench/measure_aupr_intervals.py --sets 400

A test set has some contracts and several heads.  A contract has one or two texts for
each head, with the same answer.  The score of an answer is `strength` for the right one
(0: random), plus an effect of the contract and one of the text.  For each strength and
number of contracts the program prints the share of intervals that contain the AUPR of
a very large test set, and the share of those above it, for margins that are added to
the score, and for the farther ends of the score and its log odds
(`intervals.jackknife_interval`).
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lextables.metrics.classification import Head, aupr, jackknives
from lextables.metrics.intervals import jackknife_interval

# The shares of the answers of each of seven heads.
MIXED = (
    (0.5, 0.5),
    (0.7, 0.3),
    (0.85, 0.15),
    (0.5, 0.3, 0.2),
    (0.6, 0.3, 0.1),
    (0.4, 0.3, 0.2, 0.1),
    (0.9, 0.1),
)
# {kind of test set: its heads}
HEADS = {
    "seven heads": MIXED,
    "seven heads of equal answers": ((0.5, 0.5),) * 7,
    "seven heads with a rare answer": ((0.9, 0.1),) * 7,
    "one head": ((0.7, 0.3),),
}
STRENGTHS = (0.0, 0.7, 1.5, 2.5)
CONTRACTS = (12, 20, 40)  # of a test set
LARGE = 20_000  # contracts of a very large test set
SPREAD = 0.5  # standard deviation of a contract's effect; that of all effects is 1
# {kind of interval: whether it has the farther ends of the score and its log odds}
KINDS = {"score": False, "score and log odds": True}


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that contain the score of a large test set, or are ``above``
    it, and their mean ``width``.
    """

    covered: float
    above: float
    width: float


def heads_of_test_set(
    random: np.random.Generator,
    contracts: int,
    strength: float,
    heads: Sequence[Sequence[float]],
) -> Iterator[Head]:
    """Yield the heads of a test set; ``heads`` are the shares of their answers."""
    noise = math.sqrt(1 - SPREAD**2)
    for number, shares in enumerate(heads):
        answers = len(shares)
        texts_of_contract = random.integers(1, 3, contracts)
        contract = np.repeat(np.arange(contracts), texts_of_contract)
        label = random.choice(answers, contracts, p=shares)[contract]
        right = np.eye(answers, dtype=bool)[label]
        effects = SPREAD * random.normal(size=(contracts, answers))
        scores = strength * right + effects[contract]
        scores += noise * random.normal(size=right.shape)
        name = str(number)
        yield Head(
            head_id=name,
            question=name,
            category=None,
            right=right,
            chosen=np.eye(answers, dtype=bool)[scores.argmax(axis=1)],
            ranking=2 * scores - scores.sum(axis=1, keepdims=True),
            units=contract.astype(str),
        )


def large_score(strength: float, heads: Sequence[Sequence[float]]) -> float:
    """Return the AUPR of a very large test set."""
    areas = []
    random = np.random.default_rng(0)
    for head in heads_of_test_set(random, LARGE, strength, heads):
        areas.append(aupr(head, np.ones((1, len(head.units))))[0])
    return float(np.mean(areas))


def coverage(
    contracts: int, strength: float, heads: Sequence[Sequence[float]], sets: int
) -> dict[str, Coverage]:
    """Return {kind: coverage of its intervals} over ``sets`` test sets; a test set
    without an interval is left out.
    """
    expected = large_score(strength, heads)
    random = np.random.default_rng(1)
    intervals: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for _ in range(sets):
        test_set = list(heads_of_test_set(random, contracts, strength, heads))
        (jackknife,) = jackknives("AUPR", aupr, test_set, math.inf)
        for kind, log_odds in KINDS.items():
            interval = jackknife_interval(
                jackknife.value, jackknife.without, (0, 1), log_odds=log_odds
            )
            if interval:
                intervals[kind].append(interval)
    coverage_of_kind = {}
    for kind, pairs in intervals.items():
        low, high = np.transpose(pairs)
        is_above = low > expected
        is_covered = ~is_above & (high >= expected)
        width = float(np.mean(high - low))
        coverage_of_kind[kind] = Coverage(is_covered.mean(), is_above.mean(), width)
    return coverage_of_kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400, help="test sets of each kind")
    sets = parser.parse_args().sets
    shares: dict[tuple[int, str], list[float]] = {}
    for name, heads in HEADS.items():
        for strength in STRENGTHS:
            for contracts in CONTRACTS:
                print(f"{name}, strength {strength}, {contracts} contracts:", end=" ")
                texts = []
                by_kind = coverage(contracts, strength, heads, sets)
                for kind, result in by_kind.items():
                    shares.setdefault((contracts, kind), []).append(result.covered)
                    texts.append(
                        f"{kind} {result.covered:.1%}, above {result.above:.1%}, wide {result.width:.2f}"
                    )
                print("; ".join(texts), flush=True)
    for (contracts, kind), covered in sorted(shares.items()):
        mean = np.mean(covered)
        print(
            f"{contracts} contracts, {kind}: mean {mean:.1%}, least {min(covered):.1%}"
        )


if __name__ == "__main__":
    main()
