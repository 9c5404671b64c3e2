"""The commands that reproduce a table, a row or a run, and the cost of its runs."""

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lextables.pipeline.config import Config, published
from lextables.pipeline.version import snakemake_path
from lextables.report.results import RunRecord
from lextables.tables.inputs import in_words
from lextables.tables.render import duration

NAMED = 3  # rows


def command(config: Mapping[str, Any], *targets: str) -> str:
    """Return the command that reproduces ``targets`` (default: everything) under this configuration.

    It includes `changed_keys` and, without targets, the papers.
    """
    changed = changed_keys(config)
    if not targets:
        changed.append(f"papers=[{','.join(config['papers'])}]")
    arguments = [snakemake_path(), "--cores", "4"]
    if changed:
        arguments += ["--config", *changed]
    if targets:
        arguments += ["--", *targets] if changed else targets
    return shlex.join(arguments)


def changed_keys(config: Mapping[str, Any]) -> list[str]:
    """The published keys, as `key=value`, whose value is not the default.

    The papers, which have no default, are left out.
    """
    config = published(config)
    usual = Config(papers=("any",)).model_dump(mode="json", exclude={"papers"})
    return [
        f"{name}={_value(config[name])}"
        for name in usual
        if config.get(name, usual[name]) != usual[name]
    ]


def _value(value: Any) -> str:
    if not isinstance(value, list):
        return value if isinstance(value, str) else json.dumps(value)
    if len(value) == 1 and isinstance(value[0], str):
        return value[0]
    # On the command line null would be read as text.
    entries = [
        {name: item for name, item in entry.items() if item is not None}
        if isinstance(entry, dict)
        else entry
        for entry in value
    ]
    return json.dumps(entries, ensure_ascii=False)


@dataclass(frozen=True)
class RowCommand:
    """Rows of a table, their runs, the command that reproduces them, and their ``cost`` as text."""

    rows: Sequence[str]
    runs: Sequence[RunRecord]
    command: str
    cost: str

    @property
    def name(self) -> str:
        """The names of the rows, at most `NAMED`."""
        some, more = "; ".join(self.rows[:NAMED]), len(self.rows) - NAMED
        return some if more <= 0 else f"{some}; and {more} more rows"


def cost(runs: Iterable[RunRecord]) -> str:
    """The cost of runs, including the trainings whose weights they read.

    Each run of a job has the time of the whole job, so a sum is an upper bound.
    """
    runs = list(runs)
    if any(run.submitted for run in runs):
        return "from submitted predictions; the cost is not known"
    records = [record for run in runs for record in (*trainings(run), run.record)]
    seconds = sum(record["seconds"] for record in records)
    memory = max((record.get("peak_memory_mib") or 0 for record in records), default=0)
    devices = ", ".join(dict.fromkeys(record["device"] for record in records))
    bound = "" if len(records) == 1 else "at most "
    many = "" if len(runs) == 1 else f", {len(runs)} runs"
    requests = [
        in_words(run.record["asked"]) for run in runs if run.record.get("asked")
    ]
    text = f"{bound}{duration(seconds)} on {devices}, up to {memory:,} MiB{many}"
    return "; ".join([text, *dict.fromkeys(requests)])


def trainings(run: RunRecord) -> list[Mapping[str, Any]]:
    """Return the records of the trainings whose weights a run read."""
    trained = run.record.get("trained") or []
    return trained if isinstance(trained, list) else [trained]
