"""The report of a rehearsal: which published rows ran, and why others did not.

A rehearsal runs the plan with small trainings and tiny weights (`planning.rehearsal`).
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from lextables.pipeline import spreadsheet
from lextables.pipeline.files import JsonObject, damage_named, read_json, verify
from lextables.report import costs
from lextables.tables import published
from lextables.tables.cells import Line, from_csv

Status = Literal["ran", "ran in part", "could not run"]
STATUSES: tuple[Status, ...] = ("ran", "ran in part", "could not run")
NO_TABLE = "no table of the paper's registry shows it"


@dataclass(frozen=True)
class RehearsedRow:
    """One published row of a table.

    ``cells`` are its published cells, and ``values`` those that have a finite value in
    the rehearsed table; ``reason`` says why the others have none.  A row whose scores
    are not run could not run, even if a column states the size of its model.
    """

    paper: str
    table: str
    row: str
    status: Status
    cells: int
    values: int
    reason: str


COLUMNS = tuple(field.name for field in fields(RehearsedRow))


def rehearsed_rows(
    paper: str, cells: Iterable[published.PublishedCell], tables: Mapping[str, Path]
) -> list[RehearsedRow]:
    """Return all published rows of a paper, in the order of its ``cells``.

    ``tables`` are {table: its csv}.  Raises `BadInput` for a damaged csv.
    """
    columns_of_row: dict[tuple[str, str], list[str]] = {}
    for cell in cells:
        columns_of_row.setdefault((cell.table, cell.row), []).append(cell.column)
    lines: dict[tuple[str, str, str], Line] = {}
    for table, path in tables.items():
        with damage_named(path):
            verify(path)
            for line in from_csv(path.read_text(encoding="utf-8")):
                lines[table, line.row, line.column] = line
    rows = []
    for (table, row), columns in columns_of_row.items():
        shown = [lines.get((table, row, column)) for column in columns]
        rows.append(_rehearsed_row(paper, table, row, shown))
    return rows


def _rehearsed_row(
    paper: str, table: str, row: str, lines: Sequence[Line | None]
) -> RehearsedRow:
    """Return a row, whose published cells have these lines in the rehearsed table."""
    reasons = []
    values = 0
    scored = False
    for line in lines:
        if line is not None and has_value(line):
            values += 1
            scored = scored or bool(line.runs)
        else:
            reasons.append(line.reason if line is not None else NO_TABLE)
    # A row whose scores are "not run" could not run, although a column such as the
    # model's size has a value.
    not_run = any(line is not None and line.verdict == "not run" for line in lines)
    status: Status = "ran in part"
    if values == len(lines):
        status = "ran"
    elif not values or (not_run and not scored):
        status = "could not run"
    return RehearsedRow(
        paper=paper,
        table=table,
        row=row,
        status=status,
        cells=len(lines),
        values=values,
        reason="; ".join(dict.fromkeys(reasons)),
    )


def has_value(line: Line) -> bool:
    """Return whether a cell has a text or a finite number, from the paper's data or
    other data.
    """
    value = line.reproduced or line.ours
    try:
        return math.isfinite(float(value))
    except ValueError:
        return bool(value)  # a text, or several numbers


def counts(rows: Iterable[RehearsedRow]) -> dict[str, Counter[Status]]:
    """Return {paper: the number of its rows of each status}."""
    by_paper: dict[str, Counter[Status]] = {}
    for row in rows:
        by_paper.setdefault(row.paper, Counter())[row.status] += 1
    return by_paper


def sentences(rows: Sequence[RehearsedRow]) -> list[str]:
    """Return a sentence for each paper: how many of its published rows ran."""
    texts = []
    for paper, numbers in counts(rows).items():
        parts = [f"{numbers[status]} {status}" for status in STATUSES]
        texts.append(f"{paper}: {numbers.total()} published rows, {', '.join(parts)}.")
    return texts


def to_csv(rows: Iterable[RehearsedRow]) -> str:
    """Return the report as csv, with the columns `COLUMNS`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow(map(spreadsheet.cell, astuple(row)))
    return out.getvalue()


def read(path: str | Path) -> list[RehearsedRow]:
    """Return the rows of a file of `to_csv`; raises `BadInput` if it is damaged."""
    rows = []
    with damage_named(path):
        verify(path)
        text = Path(path).read_text(encoding="utf-8")
        for cells in spreadsheet.rows(text, COLUMNS):
            values: dict[str, Any] = dict(spreadsheet.texts(cells))
            for name in ("cells", "values"):
                values[name] = int(values[name])
            rows.append(RehearsedRow(**values))
    return rows


def speeds(paths: Iterable[Path]) -> str:
    """Return the speeds of trainings on a GPU as csv, in the form of
    `costs.load_records`.

    ``paths`` are records of runs, `runs/<data set>/<experiment>/…/run.json`.  Runs of
    the same data set, experiment, registered model and device make one row: that of the
    run with the median of the seconds.
    """
    groups: dict[tuple[str, str, str, str], list[JsonObject]] = {}
    for path in paths:
        record = read_json(path, dict)
        throughput = record.get("throughput", {})
        if throughput.get("gpu_mib"):
            experiment = path.parts[-5]
            dataset = path.parts[-6]
            model = record["settings"]["model"]
            key = (experiment, dataset, model, record["device"])
            groups.setdefault(key, []).append(throughput)
    out = io.StringIO()
    writer = csv.DictWriter(out, costs.RECORD, lineterminator="\n")
    writer.writeheader()
    for (experiment, dataset, model, device), throughputs in sorted(groups.items()):
        # The run with the median of the seconds; of an even number of runs the slower
        # one of the two in the middle.
        middle = sorted(throughputs, key=itemgetter("seconds"))[len(throughputs) // 2]
        row = {
            "data": "rehearsal",
            "rule": experiment,
            "dataset": dataset,
            "model": model,
            "device": device,
            "jobs": len(throughputs),
            "updates": middle["updates"],
            "tokens": middle["tokens"],
            "seconds": middle["seconds"],
            "memory_mib": middle["gpu_mib"],
            "measured": "job",
        }
        writer.writerow(row)
    return out.getvalue()


def markdown(rows: Sequence[RehearsedRow]) -> str:
    """Return the report as a page: the counts by paper, then the rows of each."""
    lines = ["# Rehearsal of the published rows", ""]
    lines.append(
        "The values are those of tiny models or of a few updates: they say nothing about a paper."
    )
    lines.append("")
    lines += [f"- {sentence}" for sentence in sentences(rows)]
    for paper in counts(rows):
        lines += ["", f"## {paper}", "", "| table | row | status | cells | reason |"]
        lines.append("|---|---|---|---|---|")
        for row in rows:
            if row.paper == paper:
                cells = f"{row.values} of {row.cells}"
                texts = (row.table, row.row, row.status, cells, row.reason)
                escaped = [text.replace("|", "\\|") for text in texts]
                lines.append(f"| {' | '.join(escaped)} |")
    return "\n".join(lines) + "\n"
