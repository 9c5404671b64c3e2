"""Shows a plan on the screen after a dry run, and writes it down.

``plan.csv`` has a line for each table and paper and for all, ``jobs.csv`` one for each job that is to run.
"""

import csv
import io
import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.common import LogEvent

from lextables import spreadsheet
from lextables.atomic import write_text
from lextables.costs.planned import Job, Part, Sum, parts

SUMS = ("gpu_hours", "core_hours", "disk", "download", "dollars")
HEAD = ("", "to run", "stand", "shared", "GPU hours", "core hours", "disk", "download", "dollars")
AMOUNTS = ("core", "gpu", "left")


class PlanScreen(logging.Handler):
    """Waits until Snakemake has its graph of jobs, and shows what these take."""

    def __init__(self, jobs: Callable[[], list[Job]], folder: Path, notes: str) -> None:
        super().__init__()
        self.jobs, self.folder, self.notes = jobs, folder, notes
        self.shown = False

    def emit(self, record: logging.LogRecord) -> None:
        """Show the plan when the graph is there."""
        if getattr(record, "event", None) is LogEvent.RUN_INFO or record.msg == NOTHING_TO_BE_DONE_MSG:
            self.show()

    def show(self) -> None:
        """Print the plan, once, and write it down where that is possible."""
        if self.shown:
            return
        self.shown = True
        jobs = self.jobs()
        lines = parts(jobs)
        print(text(lines, self.notes))
        try:
            write_text(self.folder / "plan.csv", table(lines))
            write_text(self.folder / "jobs.csv", jobs_table(jobs))
            said = f"{self.folder}/plan.csv has these lines, jobs.csv every job."
        except OSError as error:
            said = f"Nothing is written down: {self.folder} cannot be written to ({error.strerror})."
        print(said, flush=True)


def text(lines: Sequence[Part], notes: str) -> str:
    """The plan as a table for the screen."""
    rows = [HEAD, *(_row(line) for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    shown = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    rule = "-" * max(map(len, shown))
    whole = lines[-1]
    return "\n".join([shown[0], rule, *shown[1:-1], rule, shown[-1], "", *_words(whole), notes])


def _row(line: Part) -> tuple[str, ...]:
    name = f"  {line.table}" if line.table else line.paper
    counts = (f"{line.jobs:,}", f"{line.standing:,}", f"{line.shared:,}" if line.shared else "")
    hours = (_range(line.gpu_hours, _number), _range(line.core_hours, _number))
    sizes = (_least(line.disk, _size), _least(line.download, _size), _least(line.dollars, _money))
    return name, *counts, *hours, *sizes


def _words(whole: Part) -> list[str]:
    """What stands below the table: what is not in the sums."""
    words = []
    if whole.unknown:
        kinds = ", ".join(f"{number} {rule}" for rule, number in whole.unknown.items())
        words.append(
            f"Counted and in no sum (hence >), since no run has a record of such jobs at such a size: "
            f"{sum(whole.unknown.values())} jobs ({kinds})."
        )
    if whole.download.unknown:
        words.append(f"Files whose size no registry has, and in no sum: {whole.download.unknown}.")
    if whole.tokens:
        words.append(f"Language models of a server read and write {whole.tokens / 1e6:,.1f} million tokens.")
    return words


def _range(found: Sum, say: Callable[[float], str]) -> str:
    if found.value == 0 and not found.unknown:
        return ""
    least = ">" if found.unknown else ""
    if found.low == found.high:
        return f"{least}{say(found.value)}"
    return f"{least}{say(found.value)} ({say(found.low)} to {say(found.high)})"


def _least(found: Sum, say: Callable[[float], str]) -> str:
    return (
        "" if found.value == 0 and not found.unknown else f"{'>' if found.unknown else ''}{say(found.value)}"
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}" if value >= 0.01 else f"{value:.3f}"


def _money(value: float) -> str:
    return f"{value:,.2f}"


def _size(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value / 1e3:.3g} kB"


def table(lines: Sequence[Part]) -> str:
    """The plan as csv: hours, bytes and dollars, each with its range and how many jobs are not in it."""
    head = ["paper", "table", "jobs", "standing", "shared"]
    head += [f"{name}{part}" for name in SUMS for part in ("", "_low", "_high", "_unknown")] + ["tokens"]
    rows = [
        [line.paper, line.table, line.jobs, line.standing, line.shared]
        + [
            number
            for name in SUMS
            for found in [getattr(line, name)]
            for number in (*map(_plain, (found.value, found.low, found.high)), found.unknown)
        ]
        + [_plain(line.tokens)]
        for line in lines
    ]
    return _csv(head, rows)


def jobs_table(jobs: Sequence[Job]) -> str:
    """The jobs that are to run as csv, what each takes empty where it is not known."""
    head = [
        "rule",
        "kind",
        "dataset",
        "on_gpu",
        "published_bytes",
        "flops",
        "fetched_bytes",
        "tokens",
        "dollars",
    ]
    head += [f"{name}{part}" for name in AMOUNTS for part in ("", "_low", "_high")] + ["benchmark", "outputs"]
    rows = []
    for job in jobs:
        if job.runs:
            row = [
                job.rule,
                job.kind,
                job.dataset,
                int(job.on_gpu),
                *map(_plain, (job.published, job.flops, job.fetched)),
            ]
            row += [_plain(job.tokens), _plain(job.dollars)]
            for name in AMOUNTS:
                found = getattr(job, name)
                row += [_plain(n) for n in (found.value, found.low, found.high)] if found else ["", "", ""]
            rows.append([*row, job.benchmark, " ".join(job.outputs)])
    return _csv(head, sorted(rows, key=lambda row: (row[0], row[-1])))


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"


def _csv(head: Sequence[str], rows: Sequence[Sequence]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows(map(spreadsheet.cell, row) for row in [head, *rows])
    return out.getvalue()
