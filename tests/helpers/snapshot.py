"""Stored values of the sample's tables, comparisons and censuses: tests/golden/sample.

Each of them is a csv file with one sorted line per cell, pair of rows or entry of the
census, so that a diff shows every changed value.  `make golden` rewrites the files.
"""

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

STORED = Path(__file__).parents[1] / "golden/sample"
TRAINED = "trained"  # added column: "yes" if the values of a line may depend on trained weights
# Columns that identify a line.
KEYS = ("row", "column", "measure", "one", "other", "entry")
# Columns of numbers that are compared with a tolerance in the lines of trained models.
MEASURED_COLUMNS = {
    *("reproduced", "ours", "low", "high", "difference", "prediction_low"),
    *("prediction_high", "p", "adjusted", "detectable"),
}
TOLERANCE = Decimal("1e-4")
"""Largest difference of two numbers of a trained model, relative to the greater one."""
# Models without trained weights; any other model counts as trained.
UNTRAINED = {
    *("bm25", "bm25-whole-corpus", "hypothesis", "marker", "overlap", "prior"),
    "random",
}
MODEL = re.compile(r"runs/[^/\s]+/[^/\s]+/([^/\s]+)/")
LONG = re.compile(
    r"[+-]?\d+\.\d{7,}|[+-]?\d(\.\d+)?e[+-]\d+"
)  # a number with more than six decimals
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
MEASURED = re.compile(
    r"(?<![\d.])\d+(\.\d+)? s on .*"
)  # how long a step took on which processor

Line = dict[str, str]


def write(results: Path, folder: Path) -> None:
    """Write the snapshot of a finished run, whose results are in ``results``, to the
    new ``folder``.
    """
    folder.mkdir(parents=True)
    for path in results.glob("tables/*/*.comparison.csv"):
        table = path.with_name(path.name.replace(".comparison", ""))
        cells = _read(table)
        of_trained = set()
        for cell in cells:
            cell[TRAINED] = ""
            if not UNTRAINED.issuperset(MODEL.findall(cell["runs"])):
                cell[TRAINED] = "yes"
                of_trained.update((cell["row"], cell["column"], cell["system"]))
        pairs = _read(path)
        for pair in pairs:
            pair[TRAINED] = (
                "yes" if of_trained.intersection((pair["one"], pair["other"])) else ""
            )
        _write(folder / f"{table.parent.name}.{table.name}", cells)
        _write(folder / f"{path.parent.name}.{path.name}", pairs)
    for path in results.glob("data/*/census.json"):
        entries = _entries("", json.loads(path.read_bytes()))
        lines = [{"entry": entry, "value": value} for entry, value in entries]
        _write(folder / f"{path.parent.name}.census.csv", lines)


def _read(path: Path) -> list[Line]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _write(path: Path, lines: list[Line]) -> None:
    """Write ``lines`` sorted, with numbers of at most six digits and without measured
    times.
    """
    columns = dict.fromkeys(name for line in lines for name in line)
    rows = []
    for line in lines:
        texts = [MEASURED.sub("(time)", line[name]) for name in columns]
        rows.append(
            [f"{float(text):.6g}" if LONG.fullmatch(text) else text for text in texts]
        )
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns, *sorted(rows)])


def _entries(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield each value of a census with its path, such as `data/clauses/rows`."""
    if isinstance(value, dict) and value:
        for key, part in value.items():
            yield from _entries(f"{name}/{key}" if name else key, part)
    elif isinstance(value, list) and value:
        for at, part in enumerate(value):
            yield from _entries(f"{name}/{at}", part)
    else:
        yield name, json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`.

    ``differences`` has a text for each value that differs: file, line, column and both
    values.  ``numbers`` counts the numbers that were compared, ``with_tolerance`` those
    compared with `TOLERANCE`, and ``rounded`` those of them that were equal within it
    only.
    """

    differences: tuple[str, ...]
    numbers: int
    with_tolerance: int
    rounded: int

    def __str__(self) -> str:
        return (
            f"{self.numbers:,} numbers compared, {self.with_tolerance:,} of trained models with a tolerance of "
            f"{float(TOLERANCE):g} or one of the last digit shown; {self.rounded:,} needed it, "
            f"{len(self.differences):,} values differ"
        )


class Value(NamedTuple):
    """The text of a value; ``digit`` is the last digit shown of a trained model's
    number, None for all else.
    """

    text: str
    digit: Decimal | None = None


def compare(stored: Path, current: Path) -> Comparison:
    """Compare two snapshots value by value, on every processor.

    All values are compared exactly, apart from the scores of trained models: their last
    digits depend on the order in which a processor adds.
    """
    before = _values(stored)
    after = _values(current)
    differences = []
    numbers = with_tolerance = rounded = 0
    for place in sorted({*before, *after}):
        old = before.get(place, Value("absent"))
        new = after.get(place, Value("absent"))
        if NUMBER.fullmatch(old.text):
            numbers += 1
            with_tolerance += old.digit is not None
        if old == new:
            continue
        if nearly_equal(old, new):
            rounded += 1
        else:
            place_text = " | ".join(place)
            differences.append(f"{place_text}: stored {old.text!r}, now {new.text!r}")
    return Comparison(tuple(differences), numbers, with_tolerance, rounded)


def nearly_equal(old: Value, new: Value) -> bool:
    """Whether two numbers of trained models differ by one of the last digit shown or by
    `TOLERANCE` at most.
    """
    if old.digit is None or new.digit is None:
        return False
    if not NUMBER.fullmatch(old.text) or not NUMBER.fullmatch(new.text):
        return False
    first = Decimal(old.text)
    second = Decimal(new.text)
    largest = max(abs(first), abs(second))
    return abs(first - second) <= max(old.digit, TOLERANCE * largest)


def _values(folder: Path) -> dict[tuple[str, ...], Value]:
    """Return {(file, keys of the line, column): value} of a snapshot."""
    values = {}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns = ", ".join(reader.fieldnames or ())
            values[path.stem, "columns"] = Value(columns)
            for line in reader:
                keys = [line[name] for name in KEYS if name in line]
                if (path.stem, *keys, TRAINED) in values:
                    values[path.stem, *keys, "repeated"] = Value("yes")
                for name, text in line.items():
                    digit = None
                    if line.get(TRAINED) and name in MEASURED_COLUMNS:
                        digit = _last_digit(line.get("decimals"))
                    values[path.stem, *keys, name] = Value(text, digit)
    return values


def _last_digit(decimals: str | None) -> Decimal:
    """Return one of the last digit of a number with ``decimals``; 0 if all its digits
    are shown.
    """
    if not decimals:
        return Decimal(0)
    return Decimal(10) ** -int(decimals)
