"""Measure how often the comparison of rows is right, on simulated data with a known truth.

For each kind of score and number of rows on the same units:

- false alarms: how often any two equal rows are reported as different (at most 5 % after Holm's correction
  over all pairs);
- coverage: how often the paired interval of two rows covers their true difference (95 %), zero or not;
- found: how often the first row, which leads the last by the detectable difference, is reported as different
  after the same correction (80 %).  The other rows lie halfway.  The next column is the true difference as a
  share of the detectable one, on average over the data sets.

The truth is the score of a very large sample from the same source.

`--results FOLDER` adds real rows: the differences of each two rows in that folder minus their mean, so
that no rows differ, with units resampled with replacement.

    PYTHONPATH=workflow python bench/measure_comparison.py [--sets 400] [--rows 2 4 6 10] [--only NAME]
    [--results ../real/results]
"""

import argparse
import math
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import combinations, product
from pathlib import Path

import numpy as np

from lextables.metrics import classification, minority_aupr
from lextables.metrics.intervals import mean_interval, pseudo_values
from lextables.metrics.spans import RECALLS, Counts, precision_at_recall
from lextables.metrics.spans_by_contract import area_by_unit
from lextables.pipeline.dataset import read
from lextables.tables.comparison import ALPHA, detectable, effect, holm, sign_flip
from measure_interval_coverage import HEADS, five_star_values, ndcg_values

ROWS = (2, 4, 6, 10)
LARGE = 40_000  # units of a sample whose scores count as the truth

# Draws the contribution of each unit to the score of each row, float64 (rows, units), from the rows' skills;
# the mean is the score.
Draw = Callable[[np.random.Generator, int, np.ndarray], np.ndarray]


def means(rng: np.random.Generator, queries: int, skills: np.ndarray, values: Callable) -> np.ndarray:
    """A score per query: difficulty is common to all rows, and a row of skill s scores s more unless it
    has 0."""
    shared = values(rng, queries)
    own = np.array([values(rng, queries) for _ in skills])
    found = np.where(rng.random(own.shape) < 0.6, shared, own)
    return np.clip(found + skills[:, None] * (found > 0), 0, 1)


def open_ended(rng: np.random.Generator, queries: int, skills: np.ndarray) -> np.ndarray:
    """A score without a maximum; half of its variance is common to all rows, independent of the lead."""
    return 0.2 * (rng.normal(size=queries) + rng.normal(size=(len(skills), queries))) + skills[:, None]


def ndcg(rng: np.random.Generator, queries: int, skills: np.ndarray) -> np.ndarray:
    return means(rng, queries, skills, ndcg_values)


def five_star(rng: np.random.Generator, queries: int, skills: np.ndarray) -> np.ndarray:
    """Precision in fifths, mostly 0 and mostly equal; a better row has a fifth more on some queries."""
    shared = five_star_values(rng, queries)
    own = np.array([five_star_values(rng, queries) for _ in skills])
    found = np.where(rng.random(own.shape) < 0.6, shared, own)
    more = (rng.random(own.shape) < np.clip(5 * skills[:, None], 0, 1)) & (found < 0.9)
    return found + 0.2 * more


def sizes(rng: np.random.Generator, units: int) -> np.ndarray:
    """Unequal clusters: most premises have one or two examples, some have a dozen."""
    return rng.geometric(0.4, units) + (rng.random(units) < 0.05) * 10


def classified(metric: str) -> Draw:
    """A classifier's score over units of unequal size, whose examples are similarly difficult."""

    def draw(rng: np.random.Generator, units: int, skills: np.ndarray) -> np.ndarray:
        of_unit = np.repeat(np.arange(units), sizes(rng, units))
        labels = rng.choice(3, len(of_unit), p=[0.5, 0.3, 0.2])
        ease = rng.normal(size=units)[of_unit] + 0.7 * rng.normal(size=len(of_unit))
        found = []
        for skill in skills:
            logits = rng.normal(size=(len(labels), 3))
            logits[np.arange(len(labels)), labels] += 0.8 + skill + ease
            right, chosen = (classification.one_of(at, 3) for at in (labels, logits.argmax(axis=1)))
            head = classification.Head(
                "", None, None, right, chosen, logits, np.char.zfill(of_unit.astype(str), 6)
            )
            found.append(_jackknifed(classification.METRICS[metric], [head], units))
        return np.array(found)

    return draw


def maud(rng: np.random.Generator, contracts: int, skills: np.ndarray) -> np.ndarray:
    """MAUD's AUPR over contracts, of `measure_interval_coverage.maud_heads` with the same labels for all
    rows."""
    tilt, rows = rng.normal(size=contracts), [[] for _ in skills]
    for index, answers in enumerate(HEADS):
        asked = np.sort(rng.permutation(contracts)[: max(contracts // 3, 8)])
        frequency = (
            np.array([0.15, 0.85]) if answers == 2 else np.arange(1, answers + 1) / sum(range(answers + 1))
        )
        labels = rng.choice(answers, len(asked), p=frequency)
        shared = rng.normal(size=(len(asked), answers)) + 0.6 * tilt[asked, None] * np.arange(answers)
        units = np.array([f"{contract:07}" for contract in asked])
        for heads, skill in zip(rows, skills, strict=True):
            logits = 0.7 * shared + 0.7 * rng.normal(size=shared.shape)
            logits[np.arange(len(asked)), labels] += 0.8 + skill
            data_types = np.full(len(asked), "main")
            heads.append(
                minority_aupr.Answered(
                    str(index), str(index), "", labels, logits.astype(np.float32), data_types, units
                )
            )
    return np.array([_jackknifed(classification.aupr, heads, contracts) for heads in rows])


def _jackknifed(metric: classification.Metric, heads: list, units: int) -> np.ndarray:
    """The contribution of each unit; for a large sample, the score for each, because only it is needed."""
    if units >= LARGE:
        names = np.unique(np.concatenate([head.units for head in heads]))
        return np.full(units, classification.weighted(metric, heads, names, np.ones((1, len(names))))[0])
    (found, *_) = classification.jackknives("", metric, heads, math.inf)
    return pseudo_values(found.value, found.without)


THRESHOLDS = np.linspace(1, 0, 60)


def _span_counts(rng: np.random.Generator, contracts: int, skills: np.ndarray) -> Iterator[Counts]:
    """Counts per contract and threshold, as in span extraction; length and difficulty are common to all
    rows."""
    length = rng.gamma(2, 0.5, contracts)
    gold, ease = rng.poisson(13 * length), np.clip(rng.normal(0.86, 0.08, contracts), 0.5, 0.95)
    for skill in 2 + skills:
        wrong = rng.poisson(60 * length)
        right = ease[:, None] * (1 - THRESHOLDS) ** (1 / skill)
        found = np.maximum.accumulate(rng.binomial(gold[:, None], right), axis=1)
        missed = np.maximum.accumulate(rng.binomial(wrong[:, None], (1 - THRESHOLDS) ** skill), axis=1)
        yield Counts(found, missed, gold)


def span_area(rng: np.random.Generator, contracts: int, skills: np.ndarray) -> np.ndarray:
    return np.array([area_by_unit(each) for each in _span_counts(rng, contracts, skills)])


def span_precision(rng: np.random.Generator, contracts: int, skills: np.ndarray) -> np.ndarray:
    """The precision at 80 % recall; the result shows why no table compares rows by it."""
    (recall, *_) = RECALLS.values()
    found = []
    for each in _span_counts(rng, contracts, skills):
        parts = (each.true_positives, each.false_positives, each.gold_spans)
        whole = [part.sum(axis=0) for part in parts]
        without = [total - part for total, part in zip(whole, parts, strict=True)]
        value, left_out = (precision_at_recall(Counts(*of).curve(), recall) for of in (whole, without))
        found.append(pseudo_values(float(value), left_out))
    return np.array(found)


def loss(rng: np.random.Generator, documents: int, skills: np.ndarray) -> np.ndarray:
    """A mean loss over pairs of a document and a question, with different numbers per document."""
    answered = rng.integers(20, 101, documents)
    hard = rng.gamma(4, 0.1, documents)
    totals = np.array(
        [answered * np.clip(hard + rng.normal(0, 0.06, documents) - skill, 0, None) for skill in skills]
    )
    totals += rng.normal(0, 0.2, totals.shape) * np.sqrt(answered)
    value = totals.sum(axis=1) / answered.sum()
    without = (totals.sum(axis=1)[:, None] - totals) / (answered.sum() - answered)
    return np.array([pseudo_values(*each) for each in zip(value, without, strict=True)])


# {name: (draw, units of a set, a gap in skill to begin from)}
SIMULATIONS: dict[str, tuple[Draw, tuple[int, ...], float]] = {
    "open-ended score, queries": (open_ended, (57, 12, 8), 0.1),
    "NDCG, queries": (ndcg, (57, 29), 0.1),
    "5-star precision, queries": (five_star, (57, 33), 0.05),
    "accuracy, premises of unequal size": (classified("accuracy"), (300, 60), 0.2),
    "macro F1, premises of unequal size": (classified("macro F1"), (300,), 0.2),
    "MAUD's AUPR, contracts": (maud, (150, 80), 0.3),
    "CUAD's AUPR, contracts": (span_area, (102, 40), 0.2),
    "CUAD's precision at 80 % recall, contracts": (span_precision, (102,), 0.2),
    "loss, documents": (loss, (60, 20), 0.02),
}


def measured(draw: Draw, units: int, rows: int, gap: float, sets: int, seed: int) -> dict[str, float]:
    """Return the shares of a line, over ``sets`` data sets without and with a difference."""
    rng = np.random.default_rng(seed)
    tests = math.comb(rows, 2)
    nothing = [_shares(draw(rng, units, np.zeros(rows)), 0.0) for _ in range(sets)]
    found = {
        "alarms": np.mean([one["any"] for one in nothing]),
        "covers": np.mean([one["covers"] for one in nothing]),
    }
    if effect(units, tests) == math.inf:
        return found | dict.fromkeys(("covers, differing", "found", "of detectable"), math.nan)
    # A first guess of the detectable gap, corrected five times by the measured one.
    for _ in range(5):
        wanted = np.mean([_detectable(draw(rng, units, np.array([gap, 0.0])), tests) for _ in range(60)])
        gap *= float(np.clip(wanted / max(abs(_truth(draw, rng, gap)), 1e-9), 0.2, 5))
    truth = _truth(draw, rng, gap)
    skills = np.array([gap, *[gap / 2] * (rows - 2), 0.0])
    there = [_shares(draw(rng, units, skills), truth) for _ in range(sets)]
    return found | {
        "covers, differing": np.mean([one["covers"] for one in there]),
        "found": np.mean([one["ends"] for one in there]),
        "of detectable": abs(truth) / np.mean([one["detectable"] for one in there]),
    }


def _truth(draw: Draw, rng: np.random.Generator, gap: float) -> float:
    one, other = np.nanmean(draw(rng, LARGE, np.array([gap, 0.0])), axis=1)
    return float(one - other)


def _detectable(rows: np.ndarray, tests: int) -> float:
    return detectable(rows[0] - rows[-1], tests)


def _shares(rows: np.ndarray, truth: float) -> dict[str, float]:
    """The outcome of a data set: whether any pair differs, whether the first and last row do, and
    whether their interval covers the truth."""
    rows = rows[:, ~np.isnan(rows).any(axis=0)]
    differences = np.array([one - other for one, other in combinations(rows, 2)])
    adjusted = holm(sign_flip(differences).tolist())
    ends = len(rows) - 2  # the place of the first and the last row among the pairs
    low, high = mean_interval(differences[ends]) or [differences[ends].mean()] * 2
    return {
        "any": min(adjusted) < ALPHA,
        "ends": adjusted[ends] < ALPHA,
        "covers": low <= truth <= high,
        "detectable": _detectable(rows, len(differences)),
    }


def real(results: Path, sets: int) -> Iterator[tuple[str, float, float, int]]:
    """Yield each score of real rows with its share of false alarms and of intervals that cover no
    difference."""
    rows: dict[tuple[str, str, tuple[str, ...]], dict[str, np.ndarray]] = defaultdict(dict)
    for path in sorted(results.glob("runs/*/*/*/*/seed0/units.parquet")):
        of_metric: dict[str, dict[str, float]] = defaultdict(dict)
        for row in read(path):
            # No table compares rows by strict scores.
            if row["group"] == "all" and not row["metric"].endswith(", strict"):
                of_metric[row["metric"]][row["unit"]] = row["value"]
        data_set, *run = path.parent.relative_to(results / "runs").parts
        for metric, values in of_metric.items():
            rows[data_set, metric, tuple(values)]["/".join(run)] = np.array([*values.values()])
    rng = np.random.default_rng(0)
    for (data_set, metric, units), found in sorted(rows.items()):
        both = [one - other for one, other in combinations(found.values(), 2) if not np.allclose(one, other)]
        if len(units) >= 20 and both:
            alarms, covered = [], []
            for _ in range(sets):
                # All pairs on the same units, as in a table.
                drawn = np.array(both)[:, rng.integers(0, len(units), len(units))]
                centred = drawn - np.mean(both, axis=1, keepdims=True)
                alarms.append(min(holm(sign_flip(centred).tolist())) < ALPHA)
                low, high = mean_interval(centred[0]) or (0, 0)
                covered.append(low <= 0 <= high)
            name = f"{data_set}, {metric}, {len(units)} units, {len(found)} rows"
            yield name, float(np.mean(alarms)), float(np.mean(covered)), len(both)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", type=int, default=400, help="data sets per line")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="numbers of rows")
    parser.add_argument("--only", choices=SIMULATIONS, nargs="+", default=[*SIMULATIONS], help="scores")
    parser.add_argument("--results", type=Path, help="a folder of results with real rows")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    print(f"{'score':48} rows  false alarms  covers 0  covers a difference  found  difference / detectable")
    for name in chosen.only:
        draw, of_units, gap = SIMULATIONS[name]
        for units, rows in product(of_units, chosen.rows):
            seed = zlib.crc32(f"{name} {units} {rows} {chosen.seed}".encode())
            found = measured(draw, units, rows, gap, chosen.sets, seed)
            print(
                f"{name + ', ' + str(units):48} {rows:4} {found['alarms']:13.1%} {found['covers']:9.1%} "
                f"{found['covers, differing']:20.1%} {found['found']:6.1%} {found['of detectable']:13.2f}",
                flush=True,
            )
    for name, alarms, covers, pairs in real(chosen.results, chosen.sets) if chosen.results else ():
        print(f"{name:52} {alarms:11.1%} {covers:10.1%}   ({pairs} pairs)", flush=True)


if __name__ == "__main__":
    main()
