"""Fit the model of cost of `snakemake plan` to what finished runs took: `resources/costs/fitted.csv`.

Each run is named with its data, the folder of its results and the configuration that it had.  Its jobs are
planned again in an empty folder, and each is given what its benchmark and its outputs say: the seconds of
processors, and the bytes that it left.  The records of all runs are kept in `resources/costs/records.csv`,
from which --again fits without any run; with --without a run is left out, and what it took is shown beside
what the others say of it.

    PYTHONPATH=workflow python bench/fit_costs.py \
        --run sample sample results/sample \
        --run release acord results data=release models=available papers=[acord]
    PYTHONPATH=workflow python bench/fit_costs.py --again --without sample
"""

import argparse
import csv
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from lextables import ROOT
from lextables.atomic import replacing
from lextables.costs.fitting import fit, of_rows
from lextables.costs.model import BYTES, SECONDS, Line
from lextables.costs.planned import total
from lextables.models.device import describe

COSTS = ROOT / "resources/costs"
RECORDS = ("run", "data", "device", "rule", "kind", "dataset", "work", "published", "seconds", "bytes")
# When Snakemake looks at a job: twice a second for so long, and then so far apart.
OFTEN, APART = 15.5, 30.0
UNSEEN = 2.0


def processor_seconds(benchmark: Path) -> float | None:
    """The seconds of processors that a job took; None where nobody knows.

    Snakemake looks at it every half a minute, so that the end is missing: it is taken to be like the rest.
    Of a job that ended before it was looked at it is the time by the clock.
    """
    row = list(csv.DictReader(benchmark.open(encoding="utf-8"), delimiter="\t"))[-1]
    clock = float(row["s"])
    spent = 0.0 if row["cpu_time"] in ("NA", "-") else float(row["cpu_time"])
    if not spent:
        return clock if clock < UNSEEN else None
    return spent * clock / (clock if clock < OFTEN else OFTEN + (clock - OFTEN) // APART * APART)


def size(outputs: list[str], root: Path) -> int:
    """The bytes of files and folders below ``root``."""
    found = 0
    for output in outputs:
        place = root / output
        files = [place] if place.is_file() else place.rglob("*") if place.is_dir() else ()
        found += sum(file.stat().st_size for file in files if file.is_file())
    return found


def records(name: str, data: str, results: Path, config: list[str]) -> list[dict]:
    """What each job of a finished run took for its work."""
    with TemporaryDirectory() as empty:
        command = [sys.executable, "-m", "snakemake", "plan", "all", "publish", "--directory", empty]
        command += ["--snakefile", ROOT / "Snakefile", "--profile", ROOT / "profiles/default"]
        command += ["--config", f"data={data}", *config]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        [jobs] = Path(empty).glob("results/**/plan/jobs.csv")
        below = jobs.parents[1].relative_to(empty)  # results or results/sample
        rows = list(csv.DictReader(jobs.open(encoding="utf-8")))
    found = []
    for row in rows:
        benchmark = results / Path(row["benchmark"]).relative_to(below) if row["benchmark"] else None
        if not benchmark or not benchmark.is_file():
            continue
        seconds = processor_seconds(benchmark)
        outputs = [os.path.relpath(output, below) for output in row["outputs"].split()]
        found.append(
            {
                "run": name,
                "data": data,
                "device": describe(torch.device("cpu")),
                "rule": row["rule"],
                "kind": row["kind"],
                "dataset": row["dataset"],
                "work": row["flops"],
                "published": f"{float(row['published_bytes']) / 1e6:.6g}",
                "seconds": "" if seconds is None else f"{seconds:.2f}",
                "bytes": size(outputs, results) or "",
            }
        )
    return found


def write(path: Path, head: tuple, rows: list) -> None:
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def compare(rows: list[dict], name: str) -> None:
    """Print what a run took beside what the other runs say of it."""
    fits = fit(of_rows([row for row in rows if row["run"] != name]))
    lines = {
        key: Line(found.base, found.rate, found.smallest, found.largest, found.factor)
        for key, found in fits.items()
    }
    for what, unit in ((SECONDS, 3600), (BYTES, 1e6)):
        seen, said, unknown = 0.0, [], 0
        for record in of_rows([row for row in rows if row["run"] == name]):
            if record.what == what:
                line = lines.get((record.kind, what))
                amount = line.at(record.work) if line else None
                unknown += amount is None
                seen += 0 if amount is None else record.amount
                said.append(amount)
        sums = total(said)
        print(
            f"{name}: {what} / {unit:g}: measured {seen / unit:.3g}, predicted {sums.value / unit:.3g} "
            f"({sums.low / unit:.3g} to {sums.high / unit:.3g}); {len(said) - unknown} jobs, "
            f"{unknown} more without a record"
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument(
        "--run", nargs="+", action="append", default=[], metavar="NAME DATA RESULTS [KEY=VALUE]"
    )
    arguments.add_argument("--again", action="store_true", help="keep the records of other runs")
    arguments.add_argument("--without", action="append", default=[], metavar="NAME")
    given = arguments.parse_args()
    old = []
    if given.again and (COSTS / "records.csv").is_file():
        old = list(csv.DictReader((COSTS / "records.csv").open(encoding="utf-8")))
    named = {run[0] for run in given.run}
    rows = [row for row in old if row["run"] not in named]
    for name, data, results, *config in given.run:
        rows += records(name, data, Path(results), config)
    rows.sort(key=lambda row: tuple(row[name] for name in RECORDS))
    if given.run:
        write(COSTS / "records.csv", RECORDS, [[row[name] for name in RECORDS] for row in rows])
    for name in given.without:
        compare(rows, name)
    if given.without:
        return
    head = ("kind", "what", "base", "rate", "smallest", "largest", "records", "groups", "factor", "device")
    fits, devices = fit(of_rows(rows)), " and ".join(sorted({row["device"] for row in rows}))
    write(
        COSTS / "fitted.csv",
        head,
        [
            [
                *key,
                f"{f.base:.4g}",
                f"{f.rate:.4g}",
                f"{f.smallest:.4g}",
                f"{f.largest:.4g}",
                f.records,
                f.groups,
                f"{f.factor:.3g}",
                devices,
            ]
            for key, f in fits.items()
        ],
    )


if __name__ == "__main__":
    main()
