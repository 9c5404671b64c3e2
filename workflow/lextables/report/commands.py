"""The commands that reproduce a table, a row or a run, and the cost of its runs."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.pipeline.config import Config, published
from lextables.pipeline.version import snakemake_path
from lextables.report.results import Record, RunRecord
from lextables.tables.inputs import in_words
from lextables.tables.render import duration

MAX_NAMED_ROWS = 3
Settings = Mapping[str, Any]  # the effective configuration as plain values


def command(config: Settings, *targets: str) -> str:
    """Return the command that reproduces ``targets`` (default: everything) under this
    configuration.

    It includes `changed_keys` and, without targets, the papers.
    """
    changed = changed_keys(config)
    if not targets:
        changed.append(f"papers=[{','.join(config['papers'])}]")
    arguments = [snakemake_path(), "--cores", "4"]
    if changed:
        arguments += ["--config", *changed]
    if targets and changed:
        arguments.append("--")
    return shlex.join([*arguments, *targets])


def changed_keys(config: Settings) -> list[str]:
    """The keys of the configuration whose value is not the default, as `key=value`.

    Keys with paths, which pages do not show (`config.published`), are left out, and so
    are the papers, which have no default.
    """
    config = published(dict(config))
    defaults = Config(papers=("any",)).model_dump(mode="json", exclude={"papers"})
    keys = []
    for name, default in defaults.items():
        value = config.get(name, default)
        if value != default:
            keys.append(f"{name}={_value(value)}")
    return keys


def _value(value: Any) -> str:
    """A value as Snakemake reads it on the command line."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return json.dumps(value)
    if len(value) == 1 and isinstance(value[0], str):
        return value[0]
    entries = []
    for entry in value:
        if isinstance(entry, dict):
            # On the command line null would be read as text.
            entry = {name: item for name, item in entry.items() if item is not None}
        entries.append(entry)
    return json.dumps(entries, ensure_ascii=False)


@dataclass(frozen=True)
class RowCommand:
    """Rows of a table, their runs, the command that reproduces them, and their ``cost``
    as text.
    """

    rows: Sequence[str]
    runs: Sequence[RunRecord]
    command: str
    cost: str

    @property
    def name(self) -> str:
        """The names of the rows, at most `MAX_NAMED_ROWS`."""
        names = "; ".join(self.rows[:MAX_NAMED_ROWS])
        more = len(self.rows) - MAX_NAMED_ROWS
        if more > 0:
            names += f"; and {more} more rows"
        return names


def cost(runs: Sequence[RunRecord]) -> str:
    """The cost of runs, including the trainings whose weights they read.

    Each run of a job has the time of the whole job, so a sum is an upper bound.
    """
    if any(run.submitted for run in runs):
        return "from submitted predictions; the cost is not known"
    records: list[Record] = []
    asked = []
    for run in runs:
        records += [*run.trainings, run.record]
        counts = run.record.get("asked")
        if counts:
            asked.append(in_words(counts))
    seconds = 0.0
    memory = 0
    devices = []
    for record in records:
        seconds += record["seconds"]
        memory = max(memory, record.get("peak_memory_mib") or 0)
        devices.append(record["device"])
    where = ", ".join(dict.fromkeys(devices))
    text = f"{duration(seconds)} on {where}, up to {memory:,} MiB"
    if len(records) > 1:
        text = f"at most {text}"
    if len(runs) > 1:
        text += f", {len(runs)} runs"
    return "; ".join([text, *dict.fromkeys(asked)])
