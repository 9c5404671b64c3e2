"""Measure the scores and times of the linear baseline of span extraction.

The data set is a folder in results/data.  With --folds only the training contracts are used, and each fold is
read by a model trained on the others; the registry's settings were chosen in this way.  Otherwise the test
contracts are read.

--set changes a setting of the registry (`--set relaxed=` marks the answers of the relaxed category only),
--vectors gives the output of `spans_vectors` for the features of that name, --percents trains on shares of
the training contracts, --shuffled on answers that are random units of their contract (its score is chance),
--keep keeps the predictions of the test contracts for measure_cuad_scoring.py, and --predictions scores
those of a finished run.  Scores are those of the released evaluator and those of the paper's text, each also
without the category that the evaluator relaxes.

    PYTHONPATH=workflow python bench/measure_linear_spans.py results/data/cuad --folds 4 --set units=20
    PYTHONPATH=workflow python bench/measure_linear_spans.py results/data/cuad --set features=both \
        --vectors results/features/spans/cuad/all-minilm-l6-v2/vectors/64.parquet
    PYTHONPATH=workflow python bench/measure_linear_spans.py results/data/cuad --percents 3 10 30 100
    PYTHONPATH=workflow python bench/measure_linear_spans.py results/data/cuad \
        --predictions results/runs/cuad/read/linear/linear/seed0/predictions.parquet

With --against, only differences from the released evaluator's scores of other predictions are printed, with
paired 95 % bootstrap intervals over contracts; the out-of-fold predictions in the weights of a run that keeps
them show the gain of a change on the training contracts.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lextables.metrics import STRICT, spans
from lextables.metrics.intervals import RESAMPLES, resampled_weights
from lextables.metrics.spans import METRICS, scores
from lextables.papers import packages
from lextables.pipeline.dataset import read, write
from lextables.tasks.spans.linear import read_contracts, train
from lextables.tasks.spans.squad import EXAMPLES
from lextables.tasks.spans.units import units

ROOT = Path(__file__).parents[1]
TABLES = ("contracts", "questions", "training_examples")


def splits(data: Path, folds: int) -> Iterator[dict[str, str]]:
    """Yield {contract: split} of each fold, or of the data set if there are none."""
    given = {
        row["contract_id"]: row["split"] for row in read(data / "contracts.parquet", ["contract_id", "split"])
    }
    if not folds:
        yield given
    names = sorted(name for name, split in given.items() if split != "test")
    for fold in range(folds):
        yield {name: "test" if at % folds == fold else "train" for at, name in enumerate(names)}


def divided(data: Path, split: Mapping[str, str], folder: Path) -> list[Path]:
    """Write the tables of the contracts in ``split`` with these splits, and return their paths."""
    for name in TABLES:
        table = pq.read_table(data / f"{name}.parquet")
        table = table.filter(pc.is_in(table["contract_id"], pa.array(list(split))))
        if "split" in table.column_names:
            column = pa.array([split[contract] for contract in table["contract_id"].to_pylist()])
            table = table.set_column(table.column_names.index("split"), "split", column)
        pq.write_table(table, folder / f"{name}.parquet")
    return [folder / f"{name}.parquet" for name in TABLES]


def shuffle(contracts: Path, examples: Path) -> None:
    """Give every answered example a unit of its contract, drawn at random."""
    spans = {row["contract_id"]: units(row["text"]) for row in read(contracts)}
    rng, rows = np.random.default_rng(0), list(read(examples))
    for row in rows:
        if row["start"] >= 0:
            row["start"], row["end"] = rng.choice(spans[row["contract_id"]]).tolist()
    write(EXAMPLES, rows, examples)


def settings_of(dataset: str, changed: list[str]) -> tuple[dict[str, Any], Any]:
    """Return the registry's settings of the linear model with the ``changed`` ones, and the task."""
    entries = (packages.load(path) for path in sorted((ROOT / "resources/papers").glob("*.yaml")))
    task = next(entry.tasks[dataset] for entry in entries if dataset in entry.tasks)
    given = dict(each.split("=") for each in changed)
    settings = task.linear.model_dump() | {"relaxed": task.relaxed, "features": "words", "percent": 100}
    return settings | {name: type(settings[name])(value) for name, value in given.items()}, task


def measure(
    data: Path, split: Mapping[str, str], settings: Mapping[str, Any], task: Any, given: argparse.Namespace
) -> None:
    """Train on the training contracts of ``split``, read its test contracts, and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contracts, questions, examples = divided(data, split, folder)
        if given.shuffled:
            shuffle(contracts, examples)
        start, processor = time.monotonic(), time.process_time()
        record = train(contracts, examples, settings, given.threads, folder / "weights", given.vectors)
        learnt = time.monotonic()
        predictions = given.keep or folder / "predictions"
        read_contracts(contracts, questions, settings, folder / "weights", predictions, given.vectors)
        ended, used = time.monotonic(), time.process_time() - processor
        took = f"learnt in {learnt - start:.0f} s, read in {ended - learnt:.0f} s"
        print(
            f"{record['contracts']} contracts, {record['answers']} answers; {took}, {used:.0f} s of processor"
        )
        show(predictions, questions, data / "answers.parquet", task)


def show(predictions: Path, questions: Path, answers: Path, task: Any) -> None:
    """Print the scores of predictions: released evaluator, paper's text, without the relaxed category."""
    asked = [row for row in read(questions) if row["split"] == "test"]
    parts = {"": asked}
    if task.relaxed:
        kept = [row for row in asked if row["category"] != task.relaxed]
        parts[f", without {task.relaxed}"] = kept
    for name, part in parts.items():
        ids = {row["question_id"] for row in part}
        those = (row for row in read(predictions) if row["question_id"] in ids)
        limits = {"relaxed": task.relaxed, "low_thresholds": task.low_thresholds}
        found = scores(those, part, read(answers), **limits)
        values = {row["metric"]: row["value"] for row in found if row["group"] == "all"}
        for reading, mode in (("as released", ""), ("as the paper's text says", STRICT)):
            said = ", ".join(f"{metric} {100 * values[metric + mode]:.1f}" for metric in METRICS)
            print(f"{said} {reading}{name}", flush=True)


def compare(paths: list[Path], data: Path, task: Any) -> None:
    """Print the differences of the first predictions' scores from the second's, with paired intervals."""
    rows = [list(read(path)) for path in paths]
    ids = {row["question_id"] for row in rows[0]}
    asked = (row for row in read(data / "questions.parquet") if row["question_id"] in ids)
    golds = spans.gold(asked, read(data / "answers.parquet"))
    names, unit = np.unique(golds.contracts, return_inverse=True)
    thresholds = spans.sweep(task.low_thresholds)
    each = [
        spans.counts(
            spans.paper_matches(spans.nbest_rows(own), golds, task.relaxed), unit, len(names), thresholds
        )
        for own in rows
    ]

    def gains(weights: np.ndarray) -> np.ndarray:
        new, old = (
            spans.paper_values(
                spans.Counts(*(weights @ part.astype(float) for part in vars(own).values())).curve()
            )
            for own in each
        )
        return np.array([new[metric] - old[metric] for metric in METRICS])

    measured = 100 * gains(np.ones((1, len(names))))[:, 0]
    drawn = [gains(weights.astype(float)) for weights in resampled_weights(len(names), 0, RESAMPLES)]
    low, high = 100 * np.percentile(np.concatenate(drawn, axis=1), (2.5, 97.5), axis=1)
    for metric, *values in zip(METRICS, measured, low, high, strict=True):
        print("{}: {:+.1f} ({:+.1f} to {:+.1f})".format(metric, *values))


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--folds", type=int, default=0)
    arguments.add_argument("--only", type=int, help="maximum number of folds")
    arguments.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--vectors", type=Path)
    arguments.add_argument("--percents", type=int, nargs="+", default=[100])
    arguments.add_argument("--shuffled", action="store_true")
    arguments.add_argument("--keep", type=Path)
    arguments.add_argument("--predictions", type=Path)
    arguments.add_argument("--against", type=Path)
    given = arguments.parse_args()
    settings, task = settings_of(given.data.name, given.set)
    if given.against:
        compare([given.predictions, given.against], given.data, task)
        return
    if given.predictions:
        show(given.predictions, given.data / "questions.parquet", given.data / "answers.parquet", task)
        return
    print(settings)
    for number, split in enumerate(splits(given.data, given.folds)):
        if given.only is not None and number >= given.only:
            break
        for percent in given.percents:
            measure(given.data, split, settings | {"percent": percent}, task, given)


if __name__ == "__main__":
    main()
