"""Cost of a run before it starts: jobs, core hours, disk and downloads, by paper and
table.

Seconds and bytes of a job are those of finished jobs of the same rule, data set and
model in `resources/costs/records.csv`.  A job without such a record is counted, but not
in the sums.

Columns of the records: `KEY`; ``published``, the bytes of the published files behind
the jobs; ``jobs``, their number; medians of their ``seconds``, ``bytes`` of outputs and
``memory_mib``; ``device``; ``updates`` and ``tokens``; ``measured``.

- Without a ``device`` the seconds are processor seconds of whole jobs.  They were
  ``measured`` by the `job` itself, or by Snakemake's `benchmark`, which misses up to 30
  seconds of a job.
- With the name of a GPU as ``device`` they are the seconds in which a model trained on
  ``tokens`` tokens in ``updates`` updates, or read ``tokens`` tokens (0 updates),
  padding included, without loading.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lextables.pipeline import spreadsheet
from lextables.pipeline.atomic import write_text
from lextables.pipeline.job_files import read_usage

HOUR = 3600  # seconds
MINUTES = 60  # of an hour
MEGABYTE = 1e6
# Records are used for published data of up to REACH times, or 1/REACH, their size.
REACH = 10
# Columns of the records.
KEY = ["data", "rule", "dataset", "model"]
TEXTS = [*KEY, "device", "measured"]
NUMBERS = ["published", "jobs", "seconds", "bytes", "memory_mib", "updates", "tokens"]
RECORD = [*KEY, *NUMBERS, "device", "measured"]  # all, in their order
# {what is estimated for each job and summed: the divisor that gives the unit of a sum}
SUMS = {"core_seconds": HOUR, "disk_bytes": 1, "download_bytes": 1}


@dataclass(frozen=True)
class Job:
    """A job of Snakemake's graph."""

    number: int
    rule: str
    runs: bool
    """Whether it is still to run."""
    dataset: str = ""
    model: str = ""
    before: tuple[int, ...] = ()
    """The numbers of the jobs that it depends on."""
    table: tuple[str, str] | None = None
    """The (paper, table) that it makes."""
    verdicts: int = 0
    """The number of values of this table that can get a verdict."""
    gpu: bool = False
    gpu_seconds: float = 0.0
    """Seconds of training and inference on a GPU, estimated by
    `lextables.tasks.resources`.
    """
    published: float = 0.0
    """Bytes of the published files that its inputs come from."""
    download: float | None = 0.0
    """Bytes that it downloads; None if unknown."""
    weights: Mapping[str, float | None] | None = None
    """{hub id: bytes, None if unknown} of models that are downloaded once for all
    jobs.
    """
    mem_mb: int = 0
    """Memory that it requests from a cluster."""
    minutes: int = 0
    """Time that it requests from a cluster."""
    trained: float | None = None
    """Bytes of the trained weights that it keeps; None if it keeps none."""
    log: str = ""
    outputs: tuple[str, ...] = ()


def estimates(jobs: Sequence[Job], data: str, records: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each job that is to run, with the columns of `SUMS`; NaN if
    unknown.

    Of the records of a job's rule, data set and model, the one counts whose published
    files are nearest in size, scaled by the ratio of the two sizes.
    """
    shown = ["number", *KEY[1:], "gpu", "gpu_seconds", "mem_mb", "minutes"]
    columns = [*shown, "published", "download", "trained"]
    table = pd.DataFrame([vars(job) for job in jobs if job.runs], columns=columns)
    on_processor = records[records["device"] == ""]
    data_records = on_processor[on_processor["data"] == data]
    # A row for each pair of a job and a record, one for a job without records.
    table = table.merge(data_records, "left", on=KEY[1:], suffixes=("", "_recorded"))
    recorded = table["published_recorded"].clip(lower=1)
    ratio = table["published"].clip(lower=1) / recorded
    distance = pd.Series(np.log(ratio.astype(float))).abs()
    is_near = distance <= math.log(REACH) + 1e-9
    ratio = ratio.where(is_near)  # NaN makes the estimates below unknown
    seconds = table["seconds"] * ratio
    on_gpu = table["gpu"].astype(bool)
    table["core_seconds"] = seconds.where(~on_gpu)
    outputs = table["bytes"] * ratio
    trained = table["trained"].astype(float)
    # Without a record a training takes at least its weights.
    table["disk_bytes"] = outputs.fillna(trained)
    table["download_bytes"] = table["download"].astype(float)
    order = distance.sort_values(kind="stable").index
    nearest = table.loc[order].drop_duplicates("number")
    return nearest[[*shown, *SUMS]].sort_values("number", ignore_index=True)


def summary(jobs: Sequence[Job], estimated: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each table and paper, for jobs without table, and for all.

    A job needed by several tables is in each of their rows (``shared``), and once in
    the last row.  Columns: the sums of `SUMS` over the jobs where they are known, and
    ``<name>_unknown``, the number of other jobs.  ``verdicts`` is the number of
    published scores that can get one (`lextables.planning.verdicts`).  ``gpu_hours``
    are estimated, and ``gpu_hours_requested`` is the sum of the times that jobs with a
    GPU request at their first attempt.
    """
    by_number = {job.number: job for job in jobs}
    needed: dict[tuple[str, str], set[int]] = {}
    paper_jobs: dict[tuple[str, str], set[int]] = defaultdict(set)
    uses: Counter[int] = Counter()  # {job: number of tables that need it}
    for job in jobs:
        if job.table:
            numbers = _needed(job, by_number)
            paper, _ = job.table
            needed[job.table] = numbers
            paper_jobs[paper, ""].update(numbers)
            uses.update(numbers)
    parts = dict(sorted({**paper_jobs, **needed}.items()))
    rest = by_number.keys() - uses.keys()
    if rest:
        parts["no table", ""] = set(rest)
    parts["all", ""] = set(by_number)
    rows = []
    for (paper, table), numbers in parts.items():
        to_run = estimated[estimated["number"].isin(numbers)]
        on_gpu = to_run[to_run["gpu"].astype(bool)]
        minutes = on_gpu["minutes"].sum()
        shared = [number for number in to_run["number"] if uses[number] > 1]
        row = {
            "paper": paper,
            "table": table,
            "jobs": len(to_run),
            "finished": len(numbers) - len(to_run),
            "shared": len(shared),
            "verdicts": sum(by_number[number].verdicts for number in numbers),
            "gpu_jobs": len(on_gpu),
            "gpu_hours": float(on_gpu["gpu_seconds"].sum()) / HOUR,
            "gpu_hours_requested": float(minutes) / MINUTES,
        }
        row.update(_sums(to_run, by_number))
        rows.append(row)
    return pd.DataFrame(rows).rename(
        columns={
            "core_seconds": "core_hours",
            "core_seconds_unknown": "core_hours_unknown",
        }
    )


def _sums(to_run: pd.DataFrame, jobs: Mapping[int, Job]) -> dict[str, float]:
    """The sums of `SUMS` in their units, and for each the number of jobs and downloaded
    weights whose value is unknown.
    """
    weights: dict[str, float | None] = {}
    for number in to_run["number"]:
        weights.update(jobs[number].weights or {})
    sums = {}
    for name, unit in SUMS.items():
        values = to_run[name].tolist()
        if name in ("download_bytes", "disk_bytes"):
            values += weights.values()
        amounts = pd.Series(values, dtype=float)
        unknown = amounts.isna().sum()
        sums[name] = amounts.sum() / unit
        sums[f"{name}_unknown"] = int(unknown)
    return sums


def _needed(job: Job, jobs: Mapping[int, Job]) -> set[int]:
    """A job and all jobs that it depends on."""
    needed = {job.number}
    waiting = [job.number]
    while waiting:
        for number in jobs[waiting.pop()].before:
            if number in jobs and number not in needed:
                needed.add(number)
                waiting.append(number)
    return needed


def text(lines: pd.DataFrame, estimated: pd.DataFrame) -> str:
    """Return the summary as a table for the screen, and the jobs without a record."""
    names = lines["paper"].where(lines["table"] == "", "  " + lines["table"])
    width = names.str.len().max()
    cells = pd.DataFrame({"": names.str.ljust(width)})
    whole = "{:,}".format
    for name in ("jobs", "finished", "shared"):
        cells[name] = lines[name].map(whole)
    cells["verdicts"] = lines["verdicts"].map(whole)
    cells["GPU jobs"] = lines["gpu_jobs"].map(whole)
    cells["GPU hours"] = lines["gpu_hours"].map("{:,.0f}".format)
    cells["requested"] = lines["gpu_hours_requested"].map("{:,.0f}".format)
    cells["core hours"] = _column(lines, "core_hours", "{:.2g}".format)
    cells["disk"] = _column(lines, "disk_bytes", _size)
    cells["download"] = _column(lines, "download_bytes", _size)
    parts = [cells.to_string(index=False), ""]
    without_record = estimated["core_seconds"].isna()
    rules = estimated["rule"][without_record]
    if len(rules):
        counts = rules.value_counts().sort_index()
        kinds = ", ".join(f"{number} {rule}" for rule, number in counts.items())
        parts.append(
            f"> means at least: {len(rules)} jobs have no record and are not counted ({kinds})."
        )
    parts.append(
        "Jobs needed by several tables are counted in each, and once in the last line (docs/reference.md)."
    )
    return "\n".join(parts)


def _column(lines: pd.DataFrame, name: str, form: Callable[[float], str]) -> list[str]:
    """The sums of a column as text, with > where jobs are unknown."""
    cells = []
    for value, unknown in zip(lines[name], lines[f"{name}_unknown"], strict=True):
        cell = ""
        if unknown:
            cell = f">{form(value)}"
        elif value:
            cell = form(value)
        cells.append(cell)
    return cells


def _size(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / MEGABYTE:.3g} MB"


def write(
    folder: Path, lines: pd.DataFrame, estimated: pd.DataFrame, finished: pd.DataFrame
) -> str:
    """Write ``plan.csv``, ``jobs.csv`` and ``records.csv`` to ``folder``; return a
    sentence about them.
    """
    tables = {"plan": lines, "jobs": estimated, "records": finished}
    try:
        for name, table in tables.items():
            cells = table.map(spreadsheet.cell)
            write_text(folder / f"{name}.csv", cells.to_csv(index=False))
    except OSError as error:
        return f"The plan is not saved: {folder} is not writable ({error.strerror})."
    return f"{folder}/plan.csv has these lines, jobs.csv every job."


def load_records(path: str | Path) -> pd.DataFrame:
    """Read the records of finished jobs, with the columns `RECORD`."""
    texts = pd.read_csv(path, dtype=str, keep_default_na=False)
    numbers = texts[NUMBERS].replace("", None).astype(float)
    return pd.concat([texts[TEXTS], numbers], axis=1)[RECORD]


def records(jobs: Sequence[Job], data: str) -> pd.DataFrame:
    """Return the records of the finished jobs on a processor, with the columns
    `RECORD`.

    Each is the median of the jobs of a rule, data set and model.
    """
    rows = []
    for job in jobs:
        usage = read_usage(job.log) if job.log else None
        if job.runs or job.gpu or usage is None:
            continue
        size = sum(_bytes(Path(output)) for output in job.outputs)
        published = float(f"{job.published:.3g}")
        kind = [data, job.rule, job.dataset, job.model, published]
        rows.append([*kind, usage.processor_seconds, size, usage.peak_memory_mib])
    measures = ["seconds", "bytes", "memory_mib"]
    table = pd.DataFrame(rows, columns=[*KEY, "published", *measures])
    groups = table.groupby([*KEY, "published"])
    medians = groups[measures].median().round(2)
    medians["jobs"] = groups.size()
    job_records = medians.reset_index()
    job_records = job_records.assign(
        updates=None, tokens=None, device="", measured="job"
    )
    return job_records[RECORD]


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())
