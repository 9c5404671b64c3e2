"""Measure the scores and times of the linear baseline of classification.

The data set is a folder in results/data.  Without --test only the final splits are used: the examples of each
answer of each head are divided into folds, and each fold is read by a model trained on the others, several
times; the registry's settings were chosen in this way.  The score is the task's own, first as the mean over
folds (five folds are about as large as the test split), then over all folds together.  --set changes a
setting of the registry, --curve trains on shares of the examples, --shuffled on labels permuted within each
head; --chance trains nothing and uses random scores.

    PYTHONPATH=workflow python bench/measure_linear_classification.py results/data/maud --set longest=3
    PYTHONPATH=workflow python bench/measure_linear_classification.py results/data/maud --features both --test
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

from lextables.metrics.classification import METRICS, answered, averaged, by_head, mean
from lextables.metrics.minority_aupr import answered as minority_answered
from lextables.metrics.minority_aupr import head_aupr
from lextables.models import bi_encoder
from lextables.models.resolve import load_models
from lextables.models.weights import PACKAGE, place
from lextables.papers import packages
from lextables.pipeline.dataset import Row, read
from lextables.tasks.classification import examples as asked_of
from lextables.tasks.classification.examples import key_of, labels_of, subset, texts_of
from lextables.tasks.classification.linear import learn, predict
from lextables.tasks.classification.vectors import encode_texts, read_vectors

ROOT = Path(__file__).parents[1]
Parts = tuple[list[Row], list[Row]]


def task_of(dataset: str) -> Any:
    """Return the task of a data set in the registry."""
    entries = (packages.load(path) for path in sorted((ROOT / "resources/papers").glob("*.yaml")))
    return next(entry.tasks[dataset] for entry in entries if dataset in entry.tasks)


def settings_of(task: Any, features: str, sides: str, changed: Sequence[str]) -> dict[str, Any]:
    """Return the registry's settings with the ``changed`` ones; a penalty is that of these features."""
    settings = task.linear.model_dump() | {"features": features, "sides": sides}
    settings |= {"multi_label": task.multi_label}
    for name, value in (each.split("=") for each in changed):
        if name == "penalty":
            settings["penalty"] = {**settings["penalty"], features: float(value)}
        else:
            settings[name] = type(settings[name])(value)
    return settings


def folds(rows: Sequence[Row], count: int, seed: int) -> Iterator[Parts]:
    """Yield training and test examples of each fold; the answers of a head are distributed evenly."""
    groups: dict[tuple[str, tuple[int, ...]], list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        groups[row["head_id"], labels_of(row)].append(at)
    generator, fold, dealt = np.random.default_rng(seed), np.empty(len(rows), dtype=int), defaultdict(int)
    for (head, _), members in sorted(groups.items()):
        fold[generator.permutation(members)] = (np.arange(len(members)) + dealt[head]) % count
        dealt[head] += len(members)
    for number in range(count):
        yield (
            [row for row, of in zip(rows, fold, strict=True) if of != number],
            [row for row, of in zip(rows, fold, strict=True) if of == number],
        )


def score(task: Any, predictions: Sequence[Row], examples: Sequence[Row], heads: Sequence[Row]) -> float:
    """Return the task's own score over all heads, in per cent."""
    there = {row["head_id"] for row in predictions}
    heads = [head for head in heads if head["head_id"] in there]
    examples = [row for row in examples if row["head_id"] in there]
    if task.evaluator == "minority AUPR":
        found = minority_answered(predictions, examples, heads)
        values = {head.head_id: head_aupr(head) for head in found}
    else:
        labelled = [{**row, "labels": labels_of(row)} for row in examples]
        found = answered(predictions, labelled, heads, multi_label=task.multi_label)
        values = by_head(METRICS[task.choose_by], found)
    (overall,) = (row["value"] for row in averaged("", found, values) if row["group"] == "all")
    return 100 * overall


def vectors_of(data: Path, task: Any, model: str, words: int, kept: Path) -> dict[str, np.ndarray]:
    """Return the embeddings of the data set's texts by the registry's ``model``, from a cache if possible."""
    path = kept / f"{data.name}-{model}-{words}.parquet"
    if not path.exists():
        known = load_models(ROOT / "resources/models.yaml")[model]
        encoder = bi_encoder.load(place(PACKAGE + known.package), torch.device("cpu"), known.max_length)
        texts = texts_of(data / "examples.parquet", data / f"{task.names.texts}.parquet")
        start = time.process_time()
        count = encode_texts(texts, partial(bi_encoder.encode, encoder), words, path)
        print(f"{count} pieces of {words} words encoded in {time.process_time() - start:.0f} s of processor")
    return read_vectors(path)


def shuffled(rows: Sequence[Row], seed: int) -> list[Row]:
    """Return the examples with the labels permuted within their head."""
    generator, found = np.random.default_rng(seed), list(rows)
    by_head_: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        by_head_[row["head_id"]].append(at)
    for _, members in sorted(by_head_.items()):
        for at, other in zip(members, generator.permutation(members), strict=True):
            found[at] = {**rows[at], **{n: rows[other][n] for n in ("label", "labels") if n in rows[at]}}
    return found


def drawn(rows: Sequence[Row], sizes: Mapping[str, int], seed: int) -> list[Row]:
    """Return random predictions."""
    generator = np.random.default_rng(seed)
    found = []
    for row in rows:
        given = generator.normal(size=sizes[row["head_id"]])
        shares = np.exp(given) / np.exp(given).sum()
        kept = {name: row[name] for name in ("head_id", "example_id")}
        found.append(kept | {"logits": given.tolist(), "probabilities": shares.tolist()})
    return found


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--features", default="words", choices=("words", "vectors", "both"))
    arguments.add_argument("--sides", default="both", choices=("both", "first", "second"))
    arguments.add_argument("--model", default="all-minilm-l6-v2")
    arguments.add_argument("--vectors", type=Path, default=Path("/tmp"), help="folder that keeps vectors")
    arguments.add_argument("--folds", type=int, default=5)
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--test", action="store_true")
    arguments.add_argument("--curve", type=int, nargs="*", default=[100], help="per cent of the examples")
    arguments.add_argument("--shuffled", action="store_true")
    arguments.add_argument("--chance", action="store_true")
    arguments.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()
    task = task_of(given.data.name)
    settings = settings_of(task, given.features, given.sides, given.set)
    print(settings)
    rows = list(read(given.data / "examples.parquet"))
    heads = list(read(given.data / f"{task.names.heads}.parquet"))
    texts = {
        text.key: text
        for text in texts_of(given.data / "examples.parquet", given.data / f"{task.names.texts}.parquet")
    }
    vectors = None
    if given.features != "words":
        vectors = vectors_of(given.data, task, given.model, settings["piece"], given.vectors)
    sizes = {head["head_id"]: len(head["answers"]) for head in heads}

    def reading(learnt_from: Sequence[Row], read_: Sequence[Row], percent: int, seed: int) -> list[Row]:
        if given.chance:
            return drawn(read_, sizes, seed)
        part = subset(list(learnt_from), percent / 100, seed, multi_label=task.multi_label)
        part = shuffled(part, seed) if given.shuffled else part
        of = [list({key_of(row): texts[key_of(row)] for row in those}.values()) for those in (part, read_)]
        labelled = asked_of.by_head(part, sizes, labelled=True)
        model = learn(of[0], labelled, sizes, settings, vectors, given.threads)
        return predict(model, of[1], asked_of.by_head(read_, sizes), settings, vectors)

    final = list(asked_of.of_splits(rows, task.final))
    for percent in given.curve:
        start, processor = time.monotonic(), time.process_time()
        measure(task, heads, final, rows, percent, given, reading)
        used = time.process_time() - processor
        print(f"    {time.monotonic() - start:.0f} s, {used:.0f} s of processor")


def measure(
    task: Any, heads: list[Row], final: list[Row], rows: list[Row], percent: int, given: argparse.Namespace,
    reading: Callable[..., list[Row]],
) -> None:  # fmt: skip
    """Print the test or cross-validation scores of models trained on a share of the examples."""
    if given.test:
        test = list(asked_of.of_splits(rows, task.test))
        draws = given.repeats if percent < 100 or given.shuffled or given.chance else 1
        values = [score(task, reading(final, test, percent, seed), test, heads) for seed in range(draws)]
        print(f"{percent}%: test {fmean(values):.1f} ({', '.join(f'{value:.1f}' for value in values)})")
        return
    of_folds, together = [], []
    for seed in range(given.repeats):
        parts = [
            (read_, reading(learnt_from, read_, percent, seed))
            for learnt_from, read_ in folds(final, given.folds, seed)
        ]
        of_folds.append(mean(score(task, found, read_, heads) for read_, found in parts))
        together.append(score(task, [row for _, found in parts for row in found], final, heads))
    print(f"{percent}%: cross-validated {fmean(of_folds):.1f} a fold, {fmean(together):.1f} all together")


if __name__ == "__main__":
    main()
