"""Stored values of the sample's tables, comparisons and censuses: tests/golden/sample.

Each of them is a csv file with one sorted line per cell, pair of rows or entry of the census, so that a diff
shows every changed value.  `make golden` rewrites the files.
"""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

STORED = Path(__file__).parent / "golden/sample"
PROCESSOR = "processor.txt"  # in a snapshot: the processor that computed the values
NETWORK = "network"  # added column: "yes" if the values of a line may depend on a neural network
KEYS = (
    "row",
    "column",
    "measure",
    "one",
    "other",
    "entry",
)  # columns that identify a line
# Models without a neural network; any other model counts as one.
WITHOUT_NETWORK = {
    "bm25",
    "bm25-whole-corpus",
    "linear",
    "linear-exact",
    "linear-words",
    "words",
    "hypothesis",
    "marker",
    "overlap",
    "prior",
    "random",
}
MODEL = re.compile(r"runs/[^/\s]+/[^/\s]+/([^/\s]+)/")
LONG = re.compile(
    r"[+-]?\d+\.\d{7,}|[+-]?\d(\.\d+)?e[+-]\d+"
)  # a number with more than six decimals
DIGITS = re.compile(r"[+-]?\d[\d.,e+-]*")
MEASURED = re.compile(
    r"(?<![\d.])\d+(\.\d+)? s on .*"
)  # how long a step took on which processor

Line = dict[str, str]


def write(results: Path, folder: Path) -> None:
    """Write the snapshot of a finished run, whose results are in ``results``, to the new ``folder``."""
    folder.mkdir(parents=True)
    records = [
        json.loads(path.read_bytes()) for path in results.glob("runs/**/run.json")
    ]
    (processor,) = {record["device"] for record in records}
    (folder / PROCESSOR).write_text(f"{processor}\n", encoding="utf-8")
    for path in results.glob("tables/*/*.comparison.csv"):
        table = path.with_name(path.name.replace(".comparison", ""))
        cells = _read(table)
        of_networks = set()
        for cell in cells:
            cell[NETWORK] = ""
            if not WITHOUT_NETWORK.issuperset(MODEL.findall(cell["runs"])):
                cell[NETWORK] = "yes"
                of_networks.update((cell["row"], cell["column"], cell["system"]))
        pairs = _read(path)
        for pair in pairs:
            pair[NETWORK] = (
                "yes" if of_networks.intersection((pair["one"], pair["other"])) else ""
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
    """Write ``lines`` sorted, with numbers of at most six digits and without measured times."""
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


def differences(stored: Path, found: Path) -> list[str]:
    """Return a text for each value that differs between two snapshots: file, line, column and both values.

    Numbers that depend on a neural network are compared only if the same kind of processor computed both:
    the order of additions, and so a training, depends on it.
    """
    same_processor = (stored / PROCESSOR).read_text() == (found / PROCESSOR).read_text()
    before, after = (_values(folder, same_processor) for folder in (stored, found))
    texts = []
    for place in sorted({*before, *after}):
        old = before.get(place, "absent")
        new = after.get(place, "absent")
        if old != new:
            texts.append(f"{' | '.join(place)}: stored {old!r}, now {new!r}")
    return texts


def _values(folder: Path, with_networks: bool) -> dict[tuple[str, ...], str]:
    """Return {(file, keys of the line, column): text}; without networks their numbers are replaced by #."""
    values = {}
    for path in folder.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            values[path.stem, "columns"] = ", ".join(reader.fieldnames or ())
            for line in reader:
                keys = [line[name] for name in KEYS if name in line]
                if (path.stem, *keys, NETWORK) in values:
                    values[path.stem, *keys, "repeated"] = "yes"
                if line.get(NETWORK) and not with_networks:
                    keys.sort()  # which of two rows is the better one is not compared
                    line = {
                        name: DIGITS.sub("#", text)
                        for name, text in line.items()
                        if name not in KEYS
                    }
                for name, text in line.items():
                    values[path.stem, *keys, name] = text
    return values
