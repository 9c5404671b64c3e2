"""Cost of a run before it starts: jobs, core hours, disk, downloads and dollars, by paper and table.

Seconds and bytes of a job are those of finished jobs of the same rule, data set and model in
`resources/costs/records.csv`.  A job without such a record is counted, but not in the sums.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
SUMS = {"core_seconds": HOUR, "disk_bytes": 1, "download_bytes": 1, "dollars": 1}
CHARACTERS_PER_TOKEN = 4
# Share of questions about a part of a contract after which the model is asked to quote the passage.
QUOTED = 0.2
# Tokens of an output: most questions about a contract have no related clause, the others have a passage.
OUTPUT = 60
TOP = 100  # hits that are reranked, if the settings name no number


@dataclass(frozen=True)
class Job:
    """A job of Snakemake's graph; ``runs`` is true if it is not finished.

    ``before`` are the jobs that it depends on, and ``table`` is the (paper, table) that it makes.
    ``published`` is the size in bytes of the published files that its inputs come from.  ``download`` is in
    bytes, ``weights`` is {hub id: bytes} of models that are downloaded once for all jobs, and ``dollars`` is
    the price of its requests; None if unknown.
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
    dollars: float | None = 0.0
    benchmark: str = ""
    outputs: tuple[str, ...] = ()


def estimates(jobs: Sequence[Job], data: str, records: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each job that is to run, with `SUMS`; NaN if unknown.

    The record with the nearest published size counts, scaled by the ratio of the two sizes.
    """
    columns = ["number", *KEY[1:], "gpu", "published", "download", "dollars"]
    rows = [[getattr(job, name) for name in columns] for job in jobs if job.runs]
    frame = pd.DataFrame(rows, columns=columns)
    of_data = records[records["data"] == data]
    frame = frame.merge(of_data, "left", on=KEY[1:], suffixes=("", "_recorded"))
    ratio = frame["published"].clip(lower=1) / frame["published_recorded"].clip(lower=1)
    distance = np.log(ratio.astype(float)).abs()
    ratio = ratio.where(distance <= math.log(REACH) + 1e-9)
    table = pd.DataFrame(
        {
            **{name: frame[name] for name in columns[:5]},
            "core_seconds": (frame["seconds"] * ratio).where(~frame["gpu"].astype(bool)),
            "disk_bytes": frame["bytes"] * ratio,
            "download_bytes": frame["download"].astype(float),
            "dollars": frame["dollars"].astype(float),
        }
    )
    nearest = distance.sort_values(kind="stable").index
    return table.loc[nearest].drop_duplicates("number").sort_values("number", ignore_index=True)


def summary(jobs: Sequence[Job], estimated: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each table and paper, for jobs without table, and for all.

    A job needed by several tables is in each of their rows (``shared``), and once in the last row.  Columns:
    the sums of `SUMS` over the jobs where they are known, and ``<name>_unknown``, the number of other jobs.
    """
    by_number = {job.number: job for job in jobs}
    needed = {job.table: _needed(job, by_number) for job in jobs if job.table}
    uses = pd.Series([number for numbers in needed.values() for number in numbers], dtype=int).value_counts()
    parts: dict[tuple[str, str], set[int]] = {}
    for paper in sorted({paper for paper, _ in needed}):
        tables = {table: numbers for (of, table), numbers in needed.items() if of == paper}
        parts[paper, ""] = set().union(*tables.values())
        parts |= {(paper, table): tables[table] for table in sorted(tables)}
    if rest := by_number.keys() - uses.index:
        parts["no table", ""] = set(rest)
    parts["all", ""] = set(by_number)
    rows = []
    for (paper, table), numbers in parts.items():
        jobs_of = estimated[estimated["number"].isin(numbers)]
        weights = {k: v for number in jobs_of["number"] for k, v in (by_number[number].weights or {}).items()}
        row = {
            "paper": paper,
            "table": table,
            "jobs": len(jobs_of),
            "finished": len(numbers) - len(jobs_of),
            "shared": int((jobs_of["number"].map(uses).fillna(0) > 1).sum()),
            "gpu_jobs": int(jobs_of["gpu"].sum()),
        }
        for name, unit in SUMS.items():
            values = [*jobs_of[name], *(weights.values() if name in ("download_bytes", "disk_bytes") else ())]
            values = pd.Series(values, dtype=float)
            row[name] = values.sum() / unit
            row[f"{name}_unknown"] = int(values.isna().sum())
        rows.append(row)
    return pd.DataFrame(rows).rename(columns=lambda name: name.replace("core_seconds", "core_hours"))


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
            **{name: lines[name].map("{:,}".format) for name in ("jobs", "finished", "shared")},
            "GPU jobs": lines["gpu_jobs"].map("{:,}".format),
            "core hours": _column(lines, "core_hours", lambda value: f"{value:.2g}"),
            "disk": _column(lines, "disk_bytes", _size),
            "download": _column(lines, "download_bytes", _size),
            "dollars": _column(lines, "dollars", lambda value: f"{value:,.2f}"),
        }
    )
    parts = [cells.to_string(index=False), ""]
    unknown = estimated[estimated["core_seconds"].isna()]["rule"].value_counts().sort_index()
    if len(unknown):
        kinds = ", ".join(f"{number} {rule}" for rule, number in unknown.items())
        parts.append(f"> means at least: {unknown.sum()} jobs have no record and are not counted ({kinds}).")
    parts.append(
        "Jobs needed by several tables are counted in each, and once in the last line (docs/reference.md)."
    )
    return "\n".join(parts)


def _column(lines: pd.DataFrame, name: str, form: Callable[[float], str]) -> list[str]:
    pairs = zip(lines[name], lines[f"{name}_unknown"], strict=True)
    return [f"{'>' if unknown else ''}{form(value)}" if value or unknown else "" for value, unknown in pairs]


def _size(value: float) -> str:
    return next(
        (f"{value / size:.3g} {unit}" for unit, size in (("TB", 1e12), ("GB", 1e9)) if value >= size),
        f"{value / MEGABYTE:.3g} MB",
    )


def write(folder: Path, lines: pd.DataFrame, estimated: pd.DataFrame, finished: pd.DataFrame) -> str:
    """Write ``plan.csv``, ``jobs.csv`` and ``records.csv`` to ``folder``; return a sentence about them."""
    try:
        for name, frame in {"plan": lines, "jobs": estimated, "records": finished}.items():
            write_text(folder / f"{name}.csv", frame.map(spreadsheet.cell).to_csv(index=False))
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
        rows.append([data, job.rule, job.dataset, job.model, float(f"{job.published:.3g}"), seconds, size])
    frame = pd.DataFrame(rows, columns=[*KEY, "published", "seconds", "bytes"])
    groups = frame.groupby([*KEY, "published"])
    return (
        groups.agg(jobs=("seconds", "size"), seconds=("seconds", "median"), bytes=("bytes", "median"))
        .round(2)
        .reset_index()
    )


def _bytes(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


# Tokens that runs send to a server's language models, and receive

Tokens = tuple[float, float]
Texts = Mapping[tuple[str, str], tuple[float, float]]
Parts = Mapping[str, tuple[float, float]]


def load_texts(path: str | Path, data: str, volumes: int) -> Texts:
    """Return {(data set, part): (rows, mean tokens)}; parts of LawngNLI grow with its ``volumes``."""
    table = pd.read_csv(path).query("data == @data")
    grow = (volumes / table["volumes"]).fillna(1)
    keys = zip(table["dataset"], table["part"], strict=True)
    return dict(zip(keys, zip(table["rows"] * grow, table["tokens"], strict=True), strict=True))


def tokens(rule: str, dataset: str, settings: Mapping[str, Any], texts: Texts) -> Tokens:
    """Return the tokens of a run with ``settings``; `KeyError` if its data set is not in ``texts``."""
    return _TOKENS[rule](settings, {part: value for (name, part), value in texts.items() if name == dataset})


def _asked(settings: Mapping[str, Any], requests: float, tokens: float) -> Tokens:
    """Requests of the prompt and so many tokens each, with answers of one token."""
    prompt = sum(len(text) for _, text in settings["prompt"]) / CHARACTERS_PER_TOKEN
    return requests * (prompt + tokens), requests


def _embedding(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    return sum(rows * tokens for rows, tokens in (parts["documents"], parts["test"])), 0


def _reranking(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each hit, or two for each pair of neighbours and pass."""
    queries, tokens = parts["test"]
    hits = min(settings.get("hits") or TOP, parts["judged"][0] / max(1, queries))
    documents, requests = 1, queries * hits
    if settings["way"] == "pairwise":
        documents = 2
        requests = queries * sum(2 * max(0, hits - 1 - done) for done in range(settings["passes"]))
    return _asked(settings, requests, tokens + documents * parts["documents"][1])


def _contracts(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each question and piece of a contract, and a second one for each answer."""
    (contracts, tokens), (questions, question) = parts["test"], parts["questions"]
    pieces = math.ceil(tokens / (settings["words"] * 1.4))
    first = contracts * pieces * min(questions, settings["questions"] or math.inf)
    sent, _ = _asked({"prompt": settings["presence"]}, first * (1 + QUOTED), question + tokens / pieces)
    return sent, first + first * QUOTED * settings["tokens"] / 2


def _outputs(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each question, about the contract or the candidates; no answer from a cache counts."""
    (contracts, tokens), (questions, question) = parts["test"], parts["questions"]
    requests = contracts * min(questions, settings["questions"] or math.inf)
    if "least" in settings:
        requests, tokens = parts["candidates"]
    sent, _ = _asked(settings, requests, question + tokens)
    return sent, requests * OUTPUT


def _examples(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each example, reading and order of the options."""
    sent, received = 0.0, 0.0
    for reading in settings.get("readings", [{}]):
        view = reading.get("view") or settings.get("view") or {"text": "text_id", "pair": None}
        tokens = sum(parts[column][1] for column in (view["text"], view.get("pair")) if column)
        more = _asked(settings, parts["test"][0] * settings["orders"], tokens)
        sent, received = sent + more[0], received + more[1]
    return sent, received


def _questions(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each document, question and order of the options."""
    documents, tokens = parts["documents"]
    length = tokens if settings.get("text") == "whole" else settings.get("best", 1) * parts["paragraphs"][1]
    return _asked(settings, documents * parts["questions"][0] * settings["orders"], length)


def _paragraphs(settings: Mapping[str, Any], parts: Parts) -> Tokens:
    """One request for each document, question and selected paragraph."""
    requests = parts["documents"][0] * parts["questions"][0] * settings["best"]
    return _asked(settings, requests, parts["paragraphs"][1])


# By the end of the rule's name: rules of a data set begin with its name.
_TOKENS: Mapping[str, Callable[[Mapping[str, Any], Parts], Tokens]] = {
    "retrieve_api": _embedding,
    "ask": _reranking,
    "spans_ask": _contracts,
    "spans_write": _outputs,
    "classification_ask": _examples,
    "answers_ask": _questions,
    "answers_mark_ask": _paragraphs,
}
