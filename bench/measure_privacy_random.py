"""Find the loss that gives the published losses of random guesses in the privacy policy corpus's Table 2.

    PYTHONPATH=workflow python bench/measure_privacy_random.py results/data/privacy

The formula of Section 5 does not: with two options, a guess of one half costs ln 2 = 0.693 nats whatever the
coders answered, and the published value for the only question of COVID is 0.476.  Each kind of guess is
scored by each loss against the coders' shares, smoothed or not, over the release's codings.  The table is
sorted by the root mean squared distance of the twelve values of the column from the published ones.  Guesses
are drawn 50 times; for the best combination, the last column is the distance from the published value in
standard deviations of one draw.
"""

import argparse
from collections import defaultdict
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import yaml

from lextables.pipeline.dataset import read
from lextables.tables.published import load

ROOT = Path(__file__).resolve().parents[1]
SMOOTHING, DRAWS, LEAST = 0.1, 50, 1e-7
Loss = Callable[[np.ndarray, np.ndarray], np.ndarray]


def shares(data: Path) -> dict[str, tuple[str, np.ndarray]]:
    """Return {question: (its category, shares of the options (pairs, options))}."""
    questions = {row["question_id"]: row for row in read(data / "questions.parquet")}
    counts: dict[str, dict[str, np.ndarray]] = {name: {} for name in questions}
    for row in read(data / "responses.parquet"):
        if row["options"]:
            name = row["question_id"]
            of_site = counts[name].setdefault(row["site"], np.zeros(len(questions[name]["options"])))
            np.add.at(of_site, row["options"], 1)
    found = {name: np.stack([*of_site.values()]) for name, of_site in counts.items()}
    return {
        name: (questions[name]["category"], chosen / chosen.sum(axis=1, keepdims=True))
        for name, chosen in found.items()
    }


def smoothed(values: np.ndarray) -> np.ndarray:
    """Label smoothing (Müller and others 2019)."""
    return (1 - SMOOTHING) * values + SMOOTHING / values.shape[-1]


def _log(values: np.ndarray) -> np.ndarray:
    return np.log(np.clip(values, LEAST, 1))


def _bce(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return -(y * _log(p) + (1 - y) * _log(1 - p))


def _kl(y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return (y * (_log(y) - _log(p))).sum(axis=-1)


LOSSES: dict[str, Loss] = {
    "binary cross-entropy, mean over options (Section 5)": lambda y, p: _bce(y, p).mean(axis=-1),
    "the same in bits": lambda y, p: _bce(y, p).mean(axis=-1) / np.log(2),
    "the same to base 10": lambda y, p: _bce(y, p).mean(axis=-1) / np.log(10),
    "binary cross-entropy less the target's entropy, mean over options": lambda y, p: (
        _bce(y, p) - _bce(y, y)
    ).mean(axis=-1),
    "its first term alone, mean over options": lambda y, p: -(y * _log(p)).mean(axis=-1),
    "cross-entropy": lambda y, p: -(y * _log(p)).sum(axis=-1),
    "cross-entropy to base 10": lambda y, p: -(y * _log(p)).sum(axis=-1) / np.log(10),
    "Kullback-Leibler divergence": _kl,
    "Kullback-Leibler divergence in bits": lambda y, p: _kl(y, p) / np.log(2),
    "Kullback-Leibler divergence, mean over options": lambda y, p: _kl(y, p) / y.shape[-1],
    "Jensen-Shannon divergence in bits": lambda y, p: (
        (_kl(y, (y + p) / 2) + _kl(p, (y + p) / 2)) / 2 / np.log(2)
    ),
    "squared error, mean over options": lambda y, p: ((y - p) ** 2).mean(axis=-1),
    "squared error": lambda y, p: ((y - p) ** 2).sum(axis=-1),
    "root of the squared error": lambda y, p: np.sqrt(((y - p) ** 2).sum(axis=-1)),
    "root of the mean squared error": lambda y, p: np.sqrt(((y - p) ** 2).mean(axis=-1)),
    "absolute error, mean over options": lambda y, p: np.abs(y - p).mean(axis=-1),
    "half of the absolute error (total variation)": lambda y, p: np.abs(y - p).sum(axis=-1) / 2,
}


def _one_hot(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.eye(shape[-1])[rng.integers(shape[-1], size=shape[:-1])]


def _parts(drawn: np.ndarray) -> np.ndarray:
    return drawn / drawn.sum(axis=-1, keepdims=True)


GUESSES = {
    "the same share for each option": lambda rng, shape: np.full(shape, 1 / shape[-1]),
    "one option drawn": _one_hot,
    "one option drawn, smoothed": lambda rng, shape: smoothed(_one_hot(rng, shape)),
    "drawn from the simplex": lambda rng, shape: rng.dirichlet(np.ones(shape[-1]), shape[:-1]),
    "numbers of 0 to 1 that are scaled": lambda rng, shape: _parts(rng.random(shape)),
    "numbers of 0 to 1 as they are": lambda rng, shape: rng.random(shape),
    "softmax of normal numbers": lambda rng, shape: _parts(np.exp(rng.normal(size=shape))),
    "softmax of numbers of 0 to 1": lambda rng, shape: _parts(np.exp(rng.random(shape))),
}
TARGETS = {"smoothed": smoothed, "as they are": lambda values: values}


def column(
    found: dict[str, tuple[str, np.ndarray]], loss: str, guess: str, target: str
) -> dict[str, tuple[float, float]]:
    """Return {category: loss over questions and policies, mean and deviation of draws}, with `overall`."""
    values = defaultdict(list)
    for name, (category, chosen) in sorted(found.items()):
        rng = np.random.default_rng(list(name.encode()))
        guessed = GUESSES[guess](rng, (DRAWS, *chosen.shape))
        each = np.broadcast_to(LOSSES[loss](TARGETS[target](chosen), guessed), (DRAWS, len(chosen)))
        values[category].append(each)
        values["overall"].append(each)
    draws = {category: np.concatenate(of, axis=1).mean(axis=1) for category, of in values.items()}
    return {category: (float(of.mean()), float(of.std())) for category, of in draws.items()}


def main() -> None:
    """Print all combinations, and the best one by category."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of the data set's parquet files")
    parser.add_argument("--best", type=int, default=12, help="how many to print")
    arguments = parser.parse_args()

    names = yaml.safe_load((ROOT / "resources/papers/privacy.yaml").read_text(encoding="utf-8"))["categories"]
    printed = {
        cell.row: cell.number
        for cell in load(ROOT / "resources/published/privacy.csv")
        if cell.table == "table2" and cell.column == "random guesses"
    }
    found, tried = shares(arguments.data), []
    for loss, guess, target in product(LOSSES, GUESSES, TARGETS):
        ours = column(found, loss, guess, target)
        ours = {names.get(category, category): value for category, value in ours.items()}
        away = np.sqrt(np.mean([(ours[row][0] - value) ** 2 for row, value in printed.items()]))
        tried.append((float(away), loss, guess, target, ours))
    tried.sort(key=lambda one: one[0])
    for away, loss, guess, target, _ in tried[: arguments.best]:
        print(f"{away:.3f}  {loss}; guesses: {guess}; shares: {target}")
    *_, best = tried[0]
    for row, value in printed.items():
        mean, deviation = best[row]
        print(f"{row:8} published {value:.3f}, ours {mean:.3f}, {(value - mean) / deviation:+.1f}")


if __name__ == "__main__":
    main()
