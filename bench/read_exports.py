"""Read exports with the tools that they are written for, and compare what these find
with the export.

    <python> bench/read_exports.py results/publish

The Python needs the readers (CONTRIBUTING.md).  lextables need not be installed.
Prints a row of a Markdown table for each export and reader.  The exit status is 1 if
anything differs, or if a reader is not installed.  Without the hub, set
HF_HUB_OFFLINE=1.
"""

import argparse
import importlib.util
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

# No reader may look for a data set on the hub.
os.environ |= {"HF_DATASETS_OFFLINE": "1", "PYTHONDONTWRITEBYTECODE": "1"}
ROWS = 1000  # records of a table that mlcroissant reads
# {reader: the largest accepted difference of a score}
TOLERANCE = {"ir_measures": 1e-9, "mteb": 6e-6}


class Different(Exception):
    """What a reader finds is not what the export has."""


def check_equal(value: object, expected: object, what: str) -> None:
    """Raise `Different` unless what a reader finds is what the export has."""
    if value != expected:
        raise Different(f"{what}: {str(value)[:200]} instead of {str(expected)[:200]}")


def largest_difference(differences: list[float], reader: str) -> str:
    """Return the largest difference from the pipeline's numbers as text; `Different`
    above the reader's tolerance.
    """
    # Also for NaN.
    if not max(differences) <= TOLERANCE[reader]:
        raise Different(f"{max(differences):.1e} from the pipeline's numbers")
    return f"largest difference {max(differences):.1e}"


def run(folder: Path, *arguments: str) -> str:
    """Return what a Python program prints in a folder; `Different` with its last line
    if it fails.
    """
    command = [sys.executable, *arguments]
    process = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise Different(process.stderr.strip().splitlines()[-1])
    return process.stdout


def sums_of(run_file: Path) -> dict[tuple[str, int], float]:
    """Return {(metric, cutoff): sum over the run's queries} of a run in ``trec/``: NDCG
    and recall.

    A run may not have all queries.
    """
    import pyarrow.parquet as pq

    sums = {}
    path = run_file.parents[1] / "scores" / f"{run_file.stem}.parquet"
    for row in pq.read_table(path).to_pylist():
        metric, _, cutoff = row["metric"].partition("@")
        if row["group"] == "all" and metric in ("NDCG", "Recall"):
            sums[metric, int(cutoff)] = row["value"] * row["n"]
    return sums


def read_datasets(folder: Path, work: Path) -> str:
    """Read every table that has rows with `datasets`, which loads no empty table;
    return the numbers of tables and rows as text.
    """
    import pyarrow.parquet as pq
    from datasets import get_dataset_config_names, load_dataset

    counts = {}
    for file in folder.rglob("data/*.parquet"):
        part = file.parents[1].relative_to(folder).name
        name = f"{part}-{file.stem}" if part else file.stem
        rows = pq.read_metadata(file).num_rows
        if rows:
            counts[name] = rows
    names = get_dataset_config_names(str(folder))
    check_equal(set(names), counts.keys(), "tables")
    for name, rows in counts.items():
        table = load_dataset(
            str(folder), name, split="full", cache_dir=str(work / "datasets")
        )
        check_equal(table.num_rows, rows, f"rows of {name}")
    return f"{len(counts)} tables, {sum(counts.values()):,} rows"


def read_mlcroissant(folder: Path, work: Path) -> str:
    """Read the first records of every table with `mlcroissant`, which also checks
    digests; return the numbers of tables and records as text.
    """
    import mlcroissant

    data = mlcroissant.Dataset(folder / "croissant.json")
    check_equal(set(data.metadata.ctx.issues.errors), set(), "errors")
    records = 0
    tables = data.metadata.record_sets
    for table in tables:
        first_records = itertools.islice(data.records(table.uuid), ROWS)
        records += len(list(first_records))
    return f"{len(tables)} tables, {records:,} records"


def read_ir_measures(folder: Path, work: Path) -> str | None:
    """Compare NDCG and recall of every TREC run, summed over its queries, with the
    pipeline's; return the outcome as text, None without runs.
    """
    import ir_measures

    measures = {"NDCG": ir_measures.nDCG, "Recall": ir_measures.R}
    runs = 0
    differences = []
    for trec in sorted(folder.rglob("trec")):
        qrels = list(ir_measures.read_trec_qrels(str(trec / "qrels.test.txt")))
        for path in sorted(trec.glob("*.run")):
            runs += 1
            expected = {}
            for (metric, cutoff), total in sums_of(path).items():
                expected[measures[metric] @ cutoff] = total
            if not expected:
                continue
            sums: dict[object, float] = defaultdict(float)
            hits = ir_measures.read_trec_run(str(path))
            for score in ir_measures.iter_calc(expected, qrels, hits):
                sums[score.measure] += score.value
            for measure, total in expected.items():
                differences.append(abs(sums[measure] - total))
    return outcome(runs, differences, "ir_measures")


def outcome(runs: int, differences: list[float], reader: str) -> str | None:
    """Return the numbers of runs and scores and their largest difference as text; None
    without runs.
    """
    if not runs:
        return None
    largest = largest_difference(differences, reader)
    return f"{runs} runs, {len(differences)} scores, {largest}"


def read_mteb(folder: Path, work: Path) -> str | None:
    """Compare NDCG@10 and recall of every TREC run by the exported task, which rounds
    to six and five decimals, with the pipeline's; return the outcome as text, None
    without runs.
    """
    runs = 0
    differences = []
    for task in sorted(folder.rglob("mteb_task.py")):
        out = work / "mteb" / task.parent.name
        trec = task.with_name("trec")
        runs += len(run(task.parent, task.name, str(out)).splitlines())
        qrels = (trec / "qrels.test.txt").read_text(encoding="utf-8")
        queries = {line.split()[0] for line in qrels.splitlines()}
        for file in sorted(out.rglob("*.json")):
            result = json.loads(file.read_text(encoding="utf-8"))
            (scores,) = result.get("scores", {}).get("test", [{}])
            if not scores:
                continue
            name = file.parents[1].name.removeprefix("lextables__")
            for (metric, cutoff), total in sums_of(trec / f"{name}.run").items():
                key = f"recall_at_{cutoff}"
                if metric == "NDCG":
                    key = f"ndcg_at_{cutoff}_unrounded"
                if metric == "Recall" or cutoff == 10:
                    differences.append(abs(scores[key] - total / len(queries)))
    return outcome(runs, differences, "mteb")


def read_lm_eval(folder: Path, work: Path) -> str | None:
    """Answer every question at random with lm-evaluation-harness; return the number of
    questions as text, None without questions.
    """
    count = 0
    for task in sorted(folder.rglob("harness/*.yaml")):
        name = f"lextables_{task.stem}"
        out = work / "lm_eval" / task.stem
        options = ["--model", "dummy", "--include_path", ".", "--tasks", name]
        run(task.parent, "-m", "lm_eval", *options, "--output_path", str(out))
        (file,) = out.rglob("results_*.json")
        result = json.loads(file.read_text(encoding="utf-8"))
        answered = result["n-samples"][name]["effective"]
        with (task.parent / "questions.jsonl").open("rb") as questions:
            check_equal(answered, len(questions.readlines()), "questions")
        count += answered
    return f"{count:,} questions" if count else None


# {module: function that reads an export with it}.  A function gets the folder of an
# export and a folder for temporary files.
READERS: dict[str, Callable[[Path, Path], str | None]] = {
    "datasets": read_datasets,
    "mlcroissant": read_mlcroissant,
    "ir_measures": read_ir_measures,
    "mteb": read_mteb,
    "lm_eval": read_lm_eval,
}


def results(
    publish: Path, work: Path, modules: list[str]
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield (export, reader, what it found or what differs, whether it is right)."""
    for croissant in sorted(publish.glob("*/croissant.json")):
        folder = croissant.parent
        for module in modules:
            if importlib.util.find_spec(module) is None:
                yield folder.name, module, "**not installed**", False
                continue
            is_right = True
            try:
                text = READERS[module](folder, work)
            # Any reader, any error: a row of the table says which.
            except Exception as error:
                is_right = False
                text = f"**{type(error).__name__}: {error}**"
            if text:
                yield folder.name, f"{module} {version(module)}", text, is_right


def main() -> bool:
    """Print the table, and return whether no export differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("publish", type=Path)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=[*READERS])
    arguments = parser.parse_args()
    if not [*arguments.publish.glob("*/croissant.json")]:
        parser.error(f"{arguments.publish} has no exports; run the target publish")
    print("| export | reader | result |\n|---|---|---|", flush=True)
    all_right = True
    with tempfile.TemporaryDirectory() as folder:
        for export, reader, text, is_right in results(
            arguments.publish.resolve(), Path(folder), arguments.readers
        ):
            print(f"| {export} | {reader} | {text} |", flush=True)
            all_right &= is_right
    return all_right


if __name__ == "__main__":
    sys.exit(not main())
