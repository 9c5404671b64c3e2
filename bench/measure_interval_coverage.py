"""Measure how often each sampling interval of the tables covers the true value, on simulated data.

The truth of a simulation is the score of a very large sample from the same source.  The script prints for
each interval: the share of data sets whose 95 % interval covers the truth, on which side the misses are
(below: the whole interval is below the truth), the mean width, and the share of data sets with an interval.

    PYTHONPATH=workflow python bench/measure_interval_coverage.py [--sets 400] [--only NAME]
"""

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np

from lextables.metrics import classification, minority_aupr
from lextables.metrics.intervals import mean_interval, share_interval
from lextables.metrics.spans import Counts, interval_over_contracts, paper_values

Interval = tuple[float, float] | None
Simulation = Callable[[np.random.Generator, int], Iterator[tuple[str, float, Interval]]]


def ndcg_values(rng: np.random.Generator, queries: int) -> np.ndarray:
    """NDCG per query as in retrieval: a seventh are 0, a twelfth 1, the others in between."""
    kind = rng.random(queries)
    return np.where(kind < 0.15, 0.0, np.where(kind < 0.23, 1.0, rng.beta(1.2, 1.0, queries)))


def five_star_values(rng: np.random.Generator, queries: int) -> np.ndarray:
    """Precision in fifths, mostly 0, as 5-star precision is."""
    return rng.choice([0, 0.2, 0.4, 1.0], queries, p=[0.75, 0.16, 0.07, 0.02])


def means(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, float, Interval]]:
    """ACORD's scores over its 57 test queries, and over the few of a category."""
    for name, draw in (("NDCG", ndcg_values), ("5-star precision", five_star_values)):
        truth = float(draw(rng, 2_000_000).mean())
        for queries in (57, 33, 12, 5, 3):
            for _ in range(sets):
                yield f"mean of {name}, {queries} queries", truth, mean_interval(draw(rng, queries), (0, 1))


def changes(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, float, Interval]]:
    """The paired change between two systems that share half of the variance of a query."""

    def draw(queries: int) -> np.ndarray:
        shared = rng.normal(size=queries)
        one, other = (0.7 * shared + 0.7 * rng.normal(size=queries) for _ in range(2))
        return np.clip(0.55 + 0.28 * one, 0, 1) - np.clip(0.5 + 0.28 * other, 0, 1)

    truth = float(draw(2_000_000).mean())
    for queries in (57, 12):
        for _ in range(sets):
            yield f"paired change, {queries} queries", truth, mean_interval(draw(queries), (-1, 1))


def shares(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, float, Interval]]:
    """LawngNLI's Table 4: the share of examples whose label agrees with a reading."""
    for truth, trials in ((0.92, 97), (0.98, 30), (0.5, 400)):
        for _ in range(sets):
            found = share_interval(int(rng.binomial(trials, truth)), trials)
            yield f"share {truth}, {trials} examples", truth, found


HEADS = (2, 2, 2, 3, 4, 2, 2)


def maud_heads(rng: np.random.Generator, contracts: int, skill: float) -> list[minority_aupr.Answered]:
    """MAUD's shape: seven questions, a quarter of the contracts asked each, some answers rare.

    Examples of a contract share an offset of their scores, so the units are contracts, not examples.
    """
    tilt = rng.normal(size=contracts)
    heads = []
    for index, answers in enumerate(HEADS):
        asked = rng.permutation(contracts)[: max(contracts // 3, 8)]
        frequency = (
            np.array([0.15, 0.85]) if answers == 2 else np.arange(1, answers + 1) / sum(range(answers + 1))
        )
        labels = rng.choice(answers, len(asked), p=frequency)
        logits = rng.normal(size=(len(asked), answers)) + 0.6 * tilt[asked, None] * np.arange(answers)
        logits[np.arange(len(asked)), labels] += skill
        heads.append(
            minority_aupr.Answered(
                str(index), str(index), "", labels, logits.astype(np.float32),
                np.full(len(asked), "main"), np.array([f"{contract:07}" for contract in asked]),
            )
        )  # fmt: skip
    return heads


def interval(
    name: str, heads: list, metric: classification.Metric, most: float = classification.MOST_UNITS
) -> Interval:
    """The jackknife interval of a metric over all heads."""
    ends = next(classification.jackknives(name, metric, heads, most)).ends()
    return (ends[0]["value"], ends[1]["value"]) if ends else None


def areas(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, float, Interval]]:
    """MAUD's AUPR over its contracts, by the jackknife."""
    for skill in (0.0, 0.8, 1.6):
        truth = overall(maud_heads(rng, 100_000, skill))
        for contracts in (150, 80):
            for _ in range(sets):
                heads = maud_heads(rng, contracts, skill)
                found = interval("AUPR", heads, classification.aupr, math.inf)
                yield f"MAUD's AUPR, skill {skill}, {contracts} contracts", truth, found


def overall(heads: list[minority_aupr.Answered]) -> float:
    return float(np.nanmean([minority_aupr.head_aupr(head) for head in heads]))


def answered_head(rng: np.random.Generator, documents: int) -> classification.Head:
    """One head of five answers, 40 to 5 % of the examples; a document's three are similarly difficult."""
    labels = rng.choice(5, 3 * documents, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    logits = rng.normal(size=(len(labels), 5))
    logits[np.arange(len(labels)), labels] += 1.2 + np.repeat(rng.normal(size=documents), 3)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right, chosen = (classification.one_of(indices, 5) for indices in (labels, logits.argmax(axis=1)))
    return classification.Head("", None, None, right, chosen, shares, np.repeat(np.arange(documents), 3))


def classifiers(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, float, Interval]]:
    """The scores of a classification task over documents, one at a time and in groups."""
    whole = answered_head(rng, 100_000)
    names = ("accuracy", "balanced accuracy", "macro F1", "AUPR")
    truths = {name: classification.by_head(classification.METRICS[name], [whole])[""] for name in names}
    for documents in (80, 2 * classification.MOST_UNITS):
        for _ in range(sets):
            head = answered_head(rng, documents)
            for name in names:
                ends = interval(name, [head], classification.METRICS[name])
                yield f"{name} of a classifier, {documents:,} documents", truths[name], ends


THRESHOLDS = np.linspace(1, 0, 60)


def span_counts(rng: np.random.Generator, contracts: int, skill: float) -> Counts:
    """Counts per contract and threshold, as in span extraction; long contracts have higher counts."""
    length = rng.gamma(2, 0.5, contracts)
    gold = rng.poisson(13 * length)
    wrong = rng.poisson(60 * length)
    ease = np.clip(rng.normal(0.88, 0.08, contracts), 0.5, 0.98)
    # The share of right and of wrong spans that are at least as confident as each threshold.
    right = ease[:, None] * (1 - THRESHOLDS) ** (1 / skill)
    false = (1 - THRESHOLDS) ** skill
    found = np.maximum.accumulate(rng.binomial(gold[:, None], right), axis=1)
    missed = np.maximum.accumulate(rng.binomial(wrong[:, None], false), axis=1)
    return Counts(found.astype(np.float64), missed.astype(np.float64), gold.astype(np.float64))


def spans(rng: np.random.Generator, sets: int) -> Iterator[tuple[str, float, Interval]]:
    """CUAD's area and precision at 80 % recall over its 102 test contracts."""
    for skill in (1.5, 3.0):
        whole = span_counts(rng, 100_000, skill)
        truths = paper_values(Counts(*(part.sum(axis=0) for part in parts(whole))).curve())
        for _ in range(sets):
            found = interval_over_contracts(parts(span_counts(rng, 102, skill)), 0, 2_000)
            for metric, interval in found.items():
                if truths[metric] > 0:
                    yield f"CUAD's {metric}, skill {skill}, 102 contracts", float(truths[metric]), interval


def parts(each: Counts) -> list[np.ndarray]:
    return [each.true_positives, each.false_positives, each.gold_spans]


SIMULATIONS: dict[str, Simulation] = {
    "means": means, "changes": changes, "shares": shares, "areas": areas, "classifiers": classifiers,
    "spans": spans,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=400, help="data sets per line")
    parser.add_argument("--only", choices=SIMULATIONS, help="one kind of interval")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print(f"{'interval':60} covers  below  above  width  has one")
    for name, simulation in SIMULATIONS.items():
        if chosen.only in (None, name):
            lines: dict[str, list[tuple[float, Interval]]] = {}
            for line, truth, interval in simulation(np.random.default_rng(chosen.seed), chosen.sets):
                lines.setdefault(line, []).append((truth, interval))
            for line, drawn in lines.items():
                print(f"{line:60} {summary(drawn)}", flush=True)


def summary(drawn: list[tuple[float, Interval]]) -> str:
    found = [(truth, *interval) for truth, interval in drawn if interval]
    if not found:
        return "no data set has one"
    truth, low, high = np.array(found).T
    below, above = (high < truth).mean(), (low > truth).mean()
    covers, has = 1 - below - above, len(found) / len(drawn)
    return f"{covers:6.1%} {below:6.1%} {above:6.1%} {(high - low).mean():6.3f}  {has:6.1%}"


if __name__ == "__main__":
    main()
