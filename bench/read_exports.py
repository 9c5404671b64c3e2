"""Read exports with the tools that they are written for, and compare what these find with the export.

    <python> bench/read_exports.py results/publish

The Python needs the readers (CONTRIBUTING.md).  lextables need not be installed.  Prints a row of a Markdown
table for each export and reader.  The exit status is 1 if anything differs, or if a reader is not installed.
Without the hub, set HF_HUB_OFFLINE=1.
"""

import argparse
import importlib.util
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
TOLERANCE = {"ir_measures": 1e-9, "mteb": 6e-6}


class Different(Exception):
    """What a reader finds is not what the export has."""


def same(found: object, expected: object, what: str) -> None:
    """Raise `Different` unless two values are equal."""
    if found != expected:
        raise Different(f"{what}: {str(found)[:200]} instead of {str(expected)[:200]}")


def close(differences: list[float], reader: str) -> str:
    """Return the largest difference from the pipeline's numbers; `Different` above the reader's tolerance."""
    if not max(differences) <= TOLERANCE[reader]:
        raise Different(f"{max(differences):.1e} from the pipeline's numbers")
    return f"largest difference {max(differences):.1e}"


def run(folder: Path, *arguments: str) -> str:
    """Return what a Python program prints in a folder; `Different` with its last line if it fails."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Different(done.stderr.strip().splitlines()[-1])
    return done.stdout


def sums_of(run_file: Path) -> dict[tuple[str, int], float]:
    """Return {(metric, cutoff): sum over the run's queries} of a run in ``trec/``: NDCG and recall.

    A run may not have all queries.
    """
    import pyarrow.parquet as pq

    sums = {}
    for row in pq.read_table(
        run_file.parents[1] / "scores" / f"{run_file.stem}.parquet"
    ).to_pylist():
        metric, _, cutoff = row["metric"].partition("@")
        if row["group"] == "all" and metric in ("NDCG", "Recall"):
            sums[metric, int(cutoff)] = row["value"] * row["n"]
    return sums


def read_datasets(folder: Path, work: Path) -> str:
    """Every table that has rows with `datasets`, which loads no empty table; counted."""
    import pyarrow.parquet as pq
    from datasets import get_dataset_config_names, load_dataset

    counts = {}
    for file in folder.rglob("data/*.parquet"):
        part = file.parents[1].relative_to(folder).name
        if rows := pq.read_metadata(file).num_rows:
            counts[f"{part}-{file.stem}" if part else file.stem] = rows
    same({*get_dataset_config_names(str(folder))}, counts.keys(), "tables")
    for name, rows in counts.items():
        table = load_dataset(
            str(folder), name, split="full", cache_dir=str(work / "datasets")
        )
        same(table.num_rows, rows, f"rows of {name}")
    return f"{len(counts)} tables, {sum(counts.values()):,} rows"


def read_mlcroissant(folder: Path, work: Path) -> str:
    """The first records of every table with `mlcroissant`, which also checks digests."""
    import mlcroissant

    data, records = mlcroissant.Dataset(folder / "croissant.json"), 0
    same({*data.metadata.ctx.issues.errors}, set(), "errors")
    for table in data.metadata.record_sets:
        records += sum(
            1 for _, _ in zip(data.records(table.uuid), range(ROWS), strict=False)
        )
    return f"{len(data.metadata.record_sets)} tables, {records:,} records"


def read_ir_measures(folder: Path, work: Path) -> str | None:
    """NDCG and recall of every TREC run, summed over its queries."""
    import ir_measures

    measures = {"NDCG": ir_measures.nDCG, "Recall": ir_measures.R}
    runs, differences = 0, []
    for trec in sorted(folder.rglob("trec")):
        qrels = [*ir_measures.read_trec_qrels(str(trec / "qrels.test.txt"))]
        for path in sorted(trec.glob("*.run")):
            expected = {
                measures[metric] @ cutoff: total
                for (metric, cutoff), total in sums_of(path).items()
            }
            found: dict[object, float] = defaultdict(float)
            hits = ir_measures.read_trec_run(str(path))
            for score in (
                ir_measures.iter_calc(expected, qrels, hits) if expected else ()
            ):
                found[score.measure] += score.value
            differences += [
                abs(found[measure] - total) for measure, total in expected.items()
            ]
            runs += 1
    return (
        f"{runs} runs, {len(differences)} scores, {close(differences, 'ir_measures')}"
        if runs
        else None
    )


def read_mteb(folder: Path, work: Path) -> str | None:
    """NDCG@10 and recall of every TREC run by the exported task, which rounds to six and five decimals."""
    runs, differences = 0, []
    for task in sorted(folder.rglob("mteb_task.py")):
        out, trec = work / "mteb" / task.parent.name, task.with_name("trec")
        runs += len(run(task.parent, task.name, str(out)).splitlines())
        qrels = (trec / "qrels.test.txt").read_text(encoding="utf-8")
        queries = len({line.split()[0] for line in qrels.splitlines()})
        for file in sorted(out.rglob("*.json")):
            (found,) = (
                json.loads(file.read_text(encoding="utf-8"))
                .get("scores", {})
                .get("test", [{}])
            )
            path = trec / f"{file.parents[1].name.removeprefix('lextables__')}.run"
            for (metric, cutoff), total in sums_of(path).items() if found else ():
                if metric == "Recall" or cutoff == 10:
                    key = (
                        f"recall_at_{cutoff}"
                        if metric == "Recall"
                        else "ndcg_at_10_unrounded"
                    )
                    differences.append(abs(found[key] - total / queries))
    return (
        f"{runs} runs, {len(differences)} scores, {close(differences, 'mteb')}"
        if runs
        else None
    )


def read_lm_eval(folder: Path, work: Path) -> str | None:
    """Every question of lm-evaluation-harness, answered at random."""
    asked = 0
    for task in sorted(folder.rglob("harness/*.yaml")):
        arguments = (
            "--model",
            "dummy",
            "--include_path",
            ".",
            "--tasks",
            f"lextables_{task.stem}",
        )
        out = work / "lm_eval" / task.stem
        run(task.parent, "-m", "lm_eval", *arguments, "--output_path", str(out))
        (file,) = out.rglob("results_*.json")
        counts = json.loads(file.read_text(encoding="utf-8"))["n-samples"][
            f"lextables_{task.stem}"
        ]
        with (task.parent / "questions.jsonl").open("rb") as questions:
            same(counts["effective"], sum(1 for _ in questions), "questions")
        asked += counts["effective"]
    return f"{asked:,} questions" if asked else None


# The reader of each module.
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
    for folder in sorted(path for path in publish.iterdir() if path.is_dir()):
        for module in modules if (folder / "croissant.json").is_file() else ():
            if importlib.util.find_spec(module) is None:
                yield folder.name, module, "**not installed**", False
                continue
            try:
                found, right = READERS[module](folder, work), True
            except (
                Exception
            ) as error:  # any reader, any error: a row of the table says which
                found, right = f"**{type(error).__name__}: {error}**", False
            if found:
                yield folder.name, f"{module} {version(module)}", found, right


def main() -> bool:
    """Print the table, and return whether everything is right."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("publish", type=Path)
    parser.add_argument("--readers", nargs="+", choices=READERS, default=[*READERS])
    arguments = parser.parse_args()
    if not [*arguments.publish.glob("*/croissant.json")]:
        parser.error(f"{arguments.publish} has no exports; run the target publish")
    print("| export | reader | result |\n|---|---|---|", flush=True)
    everything = True
    with tempfile.TemporaryDirectory() as folder:
        for export, reader, found, right in results(
            arguments.publish.resolve(), Path(folder), arguments.readers
        ):
            print(f"| {export} | {reader} | {found} |", flush=True)
            everything &= right
    return everything


if __name__ == "__main__":
    sys.exit(not main())
