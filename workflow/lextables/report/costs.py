"""Cost of a run before it starts: jobs, core hours, disk and downloads, by paper and table.

Seconds and bytes of a job are those of finished jobs of the same rule, data set and model in
`resources/costs/records.csv`.  A job without such a record is counted, but not in the sums.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lextables.pipeline import spreadsheet
from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import damage_named

HOUR = 3600
MEGABYTE = 1e6
# Records are used for published data of up to REACH times, or 1/REACH, their size.
REACH = 10
KEY = ["data", "rule", "dataset", "model"]
SUMS = {"core_seconds": HOUR, "disk_bytes": 1, "download_bytes": 1}


@dataclass(frozen=True)
class Job:
    """A job of Snakemake's graph; ``runs`` is true if it is not finished.

    ``before`` are the jobs that it depends on, and ``table`` is the (paper, table) that it makes.
    ``published`` is the size in bytes of the published files that its inputs come from.  ``download`` is in
    bytes, ``weights`` is {hub id: bytes} of models that are downloaded once for all jobs, ``mem_mb`` and
    ``minutes`` are what it requests from a cluster, and ``trained`` is the size
    in bytes of the weights that it keeps; None if unknown.
    """

    number: int
    rule: str
    runs: bool
    dataset: str = ""
    model: str = ""
    before: tuple[int, ...] = ()
    table: tuple[str, str] | None = None
    gpu: bool = False
    published: float = 0.0
    download: float | None = 0.0
    weights: Mapping[str, float | None] | None = None
    mem_mb: int = 0
    minutes: int = 0
    trained: float | None = None
    benchmark: str = ""
    outputs: tuple[str, ...] = ()


def estimates(jobs: Sequence[Job], data: str, records: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each job that is to run, with `SUMS`; NaN if unknown.

    The record with the nearest published size counts, scaled by the ratio of the two sizes.
    """
    names = ["number", *KEY[1:], "gpu", "mem_mb", "minutes"]
    columns = [*names, "published", "download", "trained"]
    rows = [[getattr(job, name) for name in columns] for job in jobs if job.runs]
    frame = pd.DataFrame(rows, columns=columns)
    of_data = records[records["data"] == data]
    frame = frame.merge(of_data, "left", on=KEY[1:], suffixes=("", "_recorded"))
    ratio = frame["published"].clip(lower=1) / frame["published_recorded"].clip(lower=1)
    distance = np.log(ratio.astype(float)).abs()
    ratio = ratio.where(distance <= math.log(REACH) + 1e-9)
    table = pd.DataFrame(
        {
            **{name: frame[name] for name in names},
            "core_seconds": (frame["seconds"] * ratio).where(
                ~frame["gpu"].astype(bool)
            ),
            "disk_bytes": (frame["bytes"] * ratio).fillna(
                frame["trained"].astype(float)
            ),
            "download_bytes": frame["download"].astype(float),
        }
    )
    nearest = distance.sort_values(kind="stable").index
    return (
        table.loc[nearest]
        .drop_duplicates("number")
        .sort_values("number", ignore_index=True)
    )


def summary(jobs: Sequence[Job], estimated: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each table and paper, for jobs without table, and for all.

    A job needed by several tables is in each of their rows (``shared``), and once in the last row.  Columns:
    the sums of `SUMS` over the jobs where they are known, and ``<name>_unknown``, the number of other jobs.
    """
    by_number = {job.number: job for job in jobs}
    needed = {job.table: _needed(job, by_number) for job in jobs if job.table}
    uses = pd.Series(
        [number for numbers in needed.values() for number in numbers], dtype=int
    ).value_counts()
    parts: dict[tuple[str, str], set[int]] = {}
    for paper in sorted({paper for paper, _ in needed}):
        tables = {
            table: numbers for (of, table), numbers in needed.items() if of == paper
        }
        parts[paper, ""] = set().union(*tables.values())
        parts |= {(paper, table): tables[table] for table in sorted(tables)}
    if rest := by_number.keys() - uses.index:
        parts["no table", ""] = set(rest)
    parts["all", ""] = set(by_number)
    rows = []
    for (paper, table), numbers in parts.items():
        jobs_of = estimated[estimated["number"].isin(numbers)]
        weights = {
            k: v
            for number in jobs_of["number"]
            for k, v in (by_number[number].weights or {}).items()
        }
        row = {
            "paper": paper,
            "table": table,
            "jobs": len(jobs_of),
            "finished": len(numbers) - len(jobs_of),
            "shared": int((jobs_of["number"].map(uses).fillna(0) > 1).sum()),
            "gpu_jobs": int(jobs_of["gpu"].sum()),
        }
        for name, unit in SUMS.items():
            values = [
                *jobs_of[name],
                *(weights.values() if name in ("download_bytes", "disk_bytes") else ()),
            ]
            values = pd.Series(values, dtype=float)
            row[name] = values.sum() / unit
            row[f"{name}_unknown"] = int(values.isna().sum())
        rows.append(row)
    return pd.DataFrame(rows).rename(
        columns=lambda name: name.replace("core_seconds", "core_hours")
    )


def _needed(job: Job, jobs: Mapping[int, Job]) -> set[int]:
    """A job and all jobs that it depends on."""
    needed, waiting = {job.number}, [job.number]
    while waiting:
        new = set(jobs[waiting.pop()].before) & jobs.keys() - needed
        needed |= new
        waiting += new
    return needed


def text(lines: pd.DataFrame, estimated: pd.DataFrame) -> str:
    """Return the summary as a table for the screen, and the jobs without a record."""
    names = lines["paper"].where(lines["table"] == "", "  " + lines["table"])
    cells = pd.DataFrame(
        {
            "": names.str.ljust(names.str.len().max()),
            **{
                name: lines[name].map("{:,}".format)
                for name in ("jobs", "finished", "shared")
            },
            "GPU jobs": lines["gpu_jobs"].map("{:,}".format),
            "core hours": _column(lines, "core_hours", lambda value: f"{value:.2g}"),
            "disk": _column(lines, "disk_bytes", _size),
            "download": _column(lines, "download_bytes", _size),
        }
    )
    parts = [cells.to_string(index=False), ""]
    unknown = (
        estimated[estimated["core_seconds"].isna()]["rule"].value_counts().sort_index()
    )
    if len(unknown):
        kinds = ", ".join(f"{number} {rule}" for rule, number in unknown.items())
        parts.append(
            f"> means at least: {unknown.sum()} jobs have no record and are not counted ({kinds})."
        )
    parts.append(
        "Jobs needed by several tables are counted in each, and once in the last line (docs/reference.md)."
    )
    return "\n".join(parts)


def _column(lines: pd.DataFrame, name: str, form: Callable[[float], str]) -> list[str]:
    pairs = zip(lines[name], lines[f"{name}_unknown"], strict=True)
    return [
        f"{'>' if unknown else ''}{form(value)}" if value or unknown else ""
        for value, unknown in pairs
    ]


def _size(value: float) -> str:
    return next(
        (
            f"{value / size:.3g} {unit}"
            for unit, size in (("TB", 1e12), ("GB", 1e9))
            if value >= size
        ),
        f"{value / MEGABYTE:.3g} MB",
    )


def write(
    folder: Path, lines: pd.DataFrame, estimated: pd.DataFrame, finished: pd.DataFrame
) -> str:
    """Write ``plan.csv``, ``jobs.csv`` and ``records.csv`` to ``folder``; return a sentence about them."""
    try:
        for name, frame in {
            "plan": lines,
            "jobs": estimated,
            "records": finished,
        }.items():
            write_text(
                folder / f"{name}.csv", frame.map(spreadsheet.cell).to_csv(index=False)
            )
    except OSError as error:
        return f"The plan is not saved: {folder} is not writable ({error.strerror})."
    return f"{folder}/plan.csv has these lines, jobs.csv every job."


def load_records(path: str | Path) -> pd.DataFrame:
    """Read the records of finished jobs."""
    return pd.read_csv(path, keep_default_na=False, dtype=dict.fromkeys(KEY, str))


def records(jobs: Sequence[Job], data: str) -> pd.DataFrame:
    """Return the records of the finished jobs: the median seconds and bytes of each rule, data set and model.

    Columns: `KEY`, ``published`` (bytes), ``jobs``, ``seconds`` of a core, ``bytes`` of the outputs.
    """
    rows = []
    for job in jobs:
        benchmark = Path(job.benchmark)
        if job.runs or job.gpu or not job.benchmark or not benchmark.is_file():
            continue
        size = sum(_bytes(Path(output)) for output in job.outputs)
        with damage_named(benchmark):
            seconds = pd.read_csv(benchmark, sep="\t")["cpu_time"].sum()
        rows.append(
            [
                data,
                job.rule,
                job.dataset,
                job.model,
                float(f"{job.published:.3g}"),
                seconds,
                size,
            ]
        )
    frame = pd.DataFrame(rows, columns=[*KEY, "published", "seconds", "bytes"])
    groups = frame.groupby([*KEY, "published"])
    return (
        groups.agg(
            jobs=("seconds", "size"),
            seconds=("seconds", "median"),
            bytes=("bytes", "median"),
        )
        .round(2)
        .reset_index()
    )


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
