"""Measure the linear floor of span extraction: what it scores, and how long it learns and reads.

The data set is a folder of results/data that the workflow made.  With --folds the training contracts alone
are used, each fold read by what was learnt from the others; this is how the registry's settings were chosen.
Without, the test contracts are read.  --set tries another setting than the registry's.

    PYTHONPATH=workflow python bench/measure_linear_spans.py results/data/cuad --folds 4 --set units=20
"""

import argparse
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lextables import rooms
from lextables.dataset import read
from lextables.metrics.spans import METRICS, scores
from lextables.tasks.spans.linear import read_contracts, train

ROOT = Path(__file__).parents[1]
TABLES = ("contracts", "questions", "training_examples")


def splits(data: Path, folds: int) -> Iterator[dict[str, str]]:
    """Yield {contract: split} of each fold, or of the data set where there are none."""
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


def settings_of(dataset: str, changed: list[str]) -> tuple[dict[str, Any], Any]:
    """Return the registry's settings of the linear model with what is ``changed``, and the task."""
    entries = (rooms.load(path) for path in sorted((ROOT / "resources/papers").glob("*.yaml")))
    task = next(entry.tasks[dataset] for entry in entries if dataset in entry.tasks)
    given = dict(each.split("=") for each in changed)
    settings = task.linear.model_dump() | {"relaxed": task.relaxed}
    return settings | {name: type(settings[name])(value) for name, value in given.items()}, task


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--folds", type=int, default=0)
    arguments.add_argument("--only", type=int, help="of the folds, only so many")
    arguments.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()
    settings, task = settings_of(given.data.name, given.set)
    print(settings)
    answers = list(read(given.data / "answers.parquet"))
    for number, split in enumerate(splits(given.data, given.folds)):
        if given.only is not None and number >= given.only:
            break
        with tempfile.TemporaryDirectory() as name:
            contracts, questions, examples = divided(given.data, split, Path(name))
            start, processor = time.monotonic(), time.process_time()
            train(contracts, examples, settings, given.threads, Path(name) / "weights")
            learnt = time.monotonic()
            read_contracts(contracts, questions, settings, Path(name) / "weights", Path(name) / "predictions")
            ended, used = time.monotonic(), time.process_time() - processor
            asked = [row for row in read(questions) if row["split"] == "test"]
            found = scores(
                read(Path(name) / "predictions"),
                asked,
                answers,
                relaxed=task.relaxed,
                low_thresholds=task.low_thresholds,
            )
        values = {row["metric"]: row["value"] for row in found if row["group"] == "all"}
        said = ", ".join(f"{name} {100 * values[name]:.1f}" for name in METRICS)
        took = f"learnt in {learnt - start:.0f} s, read in {ended - learnt:.0f} s"
        print(f"{said}; {took}, {used:.0f} s of processor")
        print(
            ", ".join(f"{name} {100 * values[f'{name}, strict']:.1f}" for name in METRICS),
            "as the paper's text says",
        )


if __name__ == "__main__":
    main()
