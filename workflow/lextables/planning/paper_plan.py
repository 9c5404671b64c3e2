"""The plan of a paper: runs of its data sets, rows of its tables, and data sets that
are not available.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lextables.pipeline import user_rows
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput, did_you_mean
from lextables.pipeline.run import Run
from lextables.planning.trained_on import of_models, with_training_data
from lextables.registry.paper import Paper, TableEntry
from lextables.sources.entries import Registry, SourceFile, resolve
from lextables.sources.fetch import manual_download, mirror_file
from lextables.tasks.answers.planner import AnswersPlanner
from lextables.tasks.classification.planner import ClassificationPlanner
from lextables.tasks.planner import (
    ROW_FIELDS,
    TRAIN,
    Context,
    Plan,
    Planner,
    Row,
    Spec,
    shown,
)
from lextables.tasks.retrieval.planner import RetrievalPlanner
from lextables.tasks.spans.planner import SpanPlanner

PLANNERS: dict[str, type[Planner]] = {
    "retrieval": RetrievalPlanner,
    "spans": SpanPlanner,
    "classification": ClassificationPlanner,
    "answers": AnswersPlanner,
}
ALL = "all"  # as a table's ``conditions``: it shows all conditions of its rows
SAMPLE = "sample"  # name of the sample's data, and of its grid
EXCLUDED = "excluded in the configuration"
NOT_IN_SAMPLE = "not part of the sample"


def plan(
    paper: Paper, context: Context, excluded: Mapping[str, str] = MappingProxyType({})
) -> Plan:
    """Plan the runs of a paper under a configuration, and the rows of each of its
    tables.

    ``excluded`` are {row, or pattern of rows: why it is not run}.  Of these, published
    rows stay without runs, and additional rows are removed, with the runs that no other
    row needs.
    """
    # The planner of each data set's task, which may use runs of the others.
    planners = {}
    tasks: Mapping[str, Any] = paper.tasks
    for name, task in tasks.items():
        planners[name] = PLANNERS[task.task](name, task, context)
    for planner in planners.values():
        planner.others = planners
    rows: dict[str, list[Row]] = {}
    for name, planner in planners.items():
        rows[name] = [*planner.rows(), *planner.submitted_rows()]
        _check_fields(name, rows[name], paper.tables)
        if context.config.rehearsal:
            rows[name] = [row for row in rows[name] if not row.additional]
    # All runs, without those that only excluded rows need.
    specs: dict[Run, Spec] = {}
    for planner in planners.values():
        specs.update(planner.specs)
    all_rows = [row for data_set_rows in rows.values() for row in data_set_rows]
    reasons = _matched(excluded, all_rows, specs)
    planned_runs = _runs_of((row for row in all_rows if row.row not in reasons), specs)
    excluded_runs = _runs_of((row for row in all_rows if row.row in reasons), specs)
    unneeded = excluded_runs - planned_runs
    if context.config.rehearsal:
        unneeded = specs.keys() - planned_runs  # also those of additional rows
    for run in unneeded:
        del specs[run]
    # The rows of each data set, and of each table.
    trained_on = of_models(context)
    for name, data_set_rows in rows.items():
        planned_rows = []
        for row in _exclude(data_set_rows, reasons):
            runs = _runs_of([row], specs)
            planned_rows.append(
                with_training_data(row, name, runs, specs, paper, context, trained_on)
            )
        rows[name] = planned_rows
    tables = {}
    for name, table in paper.tables.items():
        tables[name] = _table_rows(table, rows, planners)
    return Plan(specs, tables, frozenset(row.row for row in all_rows))


def _matched(
    excluded: Mapping[str, str], rows: Iterable[Row], specs: Mapping[Run, Spec]
) -> dict[str, str]:
    """Return {row: why it is not run} for the names and patterns in ``excluded``.

    A pattern leaves out no row of the user's own models and predictions.
    """
    reasons = {}
    for row in rows:
        if row.row in excluded:
            reasons[row.row] = excluded[row.row]
            continue
        for pattern, reason in excluded.items():
            if fnmatchcase(row.row, pattern) and not _is_own(row, specs):
                reasons[row.row] = reason
    return reasons


def _is_own(row: Row, specs: Mapping[Run, Spec]) -> bool:
    """Whether a row needs a model or predictions of the user."""
    runs = _runs_of([row], specs)
    return any(run.model.startswith(user_rows.PREFIX) for run in runs)


def excluded(name: str, paper: Paper, config: Config) -> dict[str, str]:
    """Return {row of a paper, or pattern, that a configuration leaves out: the
    reason}.
    """
    reasons = dict.fromkeys(config.excluded(name), EXCLUDED)
    if runs_sample(config):
        reasons.update(dict.fromkeys(paper.not_in_sample.rows, NOT_IN_SAMPLE))
    return reasons


def runs_sample(config: Config) -> bool:
    """Return whether a configuration runs the sample: what is ``not_in_sample`` of a
    paper is then left out.
    """
    is_sample = config.data == SAMPLE and config.grid in ("auto", SAMPLE)
    return is_sample and not config.rehearsal


def share_trainings(
    plans: Mapping[str, Plan], papers: Mapping[str, Paper]
) -> dict[str, Plan]:
    """Return the plans without trainings that another paper's plan has with the same
    settings.

    A task names the other paper's data set in ``trainings_of``, and its runs then load
    the weights of that training.
    """
    planned: dict[Run, Spec] = {}
    for plan in plans.values():
        planned.update(plan.specs)
    shared = {}
    for name, plan in plans.items():
        shared[name] = _with_shared(plan, papers[name], planned)
    return shared


def _with_shared(plan: Plan, paper: Paper, planned: Mapping[Run, Spec]) -> Plan:
    """Return a paper's plan with the trainings of other papers among ``planned``."""
    shared = {}  # {training of this plan: the same training of the other paper}
    for run, spec in plan.specs.items():
        other_data_set = getattr(paper.tasks.get(run.data_set), "trainings_of", "")
        other_run = replace(run, data_set=other_data_set)
        if run.experiment != TRAIN or other_run not in planned:
            continue
        if planned[other_run].settings == spec.settings:
            shared[run] = other_run
    specs = {}
    for run, spec in plan.specs.items():
        if run not in shared:
            sources = tuple(shared.get(source, source) for source in spec.sources)
            specs[run] = replace(spec, sources=sources)
    return replace(plan, specs=specs)


def check_excluded(
    names: Iterable[str], plans: Mapping[str, Plan], papers: Container[str]
) -> None:
    """Raise `BadInput` for a name in config key exclude_rows that is not a row of the
    planned papers.

    A pattern must match a row.  A name may begin with its paper's name and a slash;
    papers that are not planned are not checked.
    """
    rows = set()
    for paper, plan in plans.items():
        for name in plan.names:
            rows |= {name, f"{paper}/{name}"}
    for name in names:
        paper = name.partition("/")[0]
        if name in rows or (paper in papers and paper not in plans):
            continue
        if any(fnmatchcase(row, name) for row in rows):
            continue
        do = did_you_mean(name, rows) or "take the name from the table"
        what = f"exclude_rows = {name!r} is no row of {', '.join(plans)}"
        raise BadInput(what, where="config", do=do)


def _runs_of(rows: Iterable[Row], specs: Mapping[Run, Spec]) -> set[Run]:
    """The runs of these rows, and the runs that these depend on."""
    needed: set[Run] = set()
    waiting: list[Run] = []
    for row in rows:
        for runs in row.runs.values():
            waiting += runs
    while waiting:
        run = waiting.pop()
        if run in needed:
            continue
        needed.add(run)
        spec = specs[run]
        waiting += [*spec.needs, *spec.sources]
        if spec.choice:
            waiting.append(spec.choice)
    return needed


def _exclude(rows: Iterable[Row], reasons: Mapping[str, str]) -> Iterator[Row]:
    """Yield the rows: excluded published ones without runs, excluded additional ones
    not at all.

    ``reasons`` are {excluded row: why it is not run}.
    """
    for row in rows:
        if row.row not in reasons:
            yield row
        elif not row.additional:
            yield replace(row, runs={}, reason=reasons[row.row])


def _check_fields(
    data_set: str, rows: Iterable[Row], tables: Mapping[str, TableEntry]
) -> None:
    """Raise `BadInput` if a table selects rows by a field that no row of the data set
    has.
    """
    fields = {*ROW_FIELDS}
    for row in rows:
        fields.update(row.about)
    for name, table in tables.items():
        if table.of != data_set:
            continue
        for field in chain.from_iterable(table.rows):
            if field not in fields:
                do = did_you_mean(field, fields) or f"use {', '.join(sorted(fields))}"
                what = f"no row of {data_set} has the field {field!r}"
                raise BadInput(what, where=f"tables.{name}.rows", do=do)


def _table_rows(
    table: TableEntry, rows: Mapping[str, list[Row]], planners: Mapping[str, Planner]
) -> list[dict]:
    """Return the rows of a table as plain values; none for a table made from data only.

    ``rows`` are {data set: its rows}, and ``planners`` {data set: its planner}.
    """
    if table.of is None or table.of not in planners:
        return []
    conditions = table.conditions or (planners[table.of].MAIN,)
    if conditions == ALL:
        conditions = ()
    return shown(rows[table.of], table.rows, conditions)


# Optional data sets of a paper


def absent_data(
    config: Config, papers: Mapping[str, Paper], registry: Registry, root: Path
) -> dict[str, str]:
    """Return {auxiliary data set of a paper: why it is not available} under a
    configuration.

    A data set is available if each of its files is in a mirror, was fetched by an
    earlier run, or has an address and the config asks for ``models: paper``, the full
    rebuild.  Only names of files are looked at.
    """
    mirrors = config.mirrors(root)
    reasons = {}
    for paper in papers.values():
        for name, entry in paper.data.items():
            if not entry.auxiliary:
                continue
            if runs_sample(config) and name in paper.not_in_sample.data:
                reasons[name] = NOT_IN_SAMPLE
                continue
            files = []
            for paths in entry.named(mirrors).values():
                for path in paths:
                    source, file = path.split("/", 1)
                    files.append(resolve(registry, source, file))
            reason = _why_absent(files, config, mirrors)
            if reason:
                reasons[name] = reason
    return reasons


def _why_absent(
    files: Iterable[SourceFile], config: Config, mirrors: list[Path]
) -> str:
    """Return why at least one of the files is not available; empty if all are."""
    missing = []
    for file in files:
        variants = file.variants_for(config.data)
        if not _fetched(file, config) and not mirror_file(file, mirrors, variants):
            missing.append(file)
    for file in missing:
        variants = file.variants_for(config.data)
        instructions = manual_download(file, mirrors, variants)
        if instructions:
            return instructions.sentence
    is_release = config.data == "release"
    if not missing or (is_release and config.models == "paper"):
        return ""
    names = missing[0].name
    if len(missing) > 1:
        names += f" and {len(missing) - 1} more of its files"
    if not is_release:
        return f"the sample has no {names}"
    return f"no mirror has {names}; models=paper downloads such data"


def _fetched(source_file: SourceFile, config: Config) -> bool:
    """Whether an earlier run fetched a file, and wrote its record beside it."""
    file = Path(config.results, "sources", source_file.name)
    return file.is_file() and file.with_name(f"{file.name}.json").is_file()
