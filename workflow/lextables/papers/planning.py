"""The plan of a paper: the runs of its data sets, and the rows of its tables."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches

from lextables.papers.registry import Paper, TableEntry
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.tasks.answers.plan import AnswersPlanner
from lextables.tasks.classification.plan import ClassificationPlanner
from lextables.tasks.plan import Context, Plan, Planner, Row, Spec, shown
from lextables.tasks.retrieval.plan import RetrievalPlanner
from lextables.tasks.spans.plan import SpanPlanner

PLANNERS: dict[str, type[Planner]] = {
    "retrieval": RetrievalPlanner,
    "spans": SpanPlanner,
    "classification": ClassificationPlanner,
    "answers": AnswersPlanner,
}
ALL = "all"
EXCLUDED = "excluded in the configuration"


def plan(paper: Paper, context: Context, excluded: Collection[str] = ()) -> Plan:
    """Plan the runs of a paper under a configuration, and the rows of each of its tables.

    Of the rows named in ``excluded``, published ones are not run and additional ones are left out, with the
    runs that no other row needs.
    """
    planners = {name: PLANNERS[task.task](name, task, context) for name, task in paper.tasks.items()}
    for planner in planners.values():
        planner.others = planners
    rows: dict[str, list[Row]] = {
        name: [*planner.rows(), *planner.given()] for name, planner in planners.items()
    }
    specs = {run: spec for planner in planners.values() for run, spec in planner.specs.items()}
    every = [row for those in rows.values() for row in those]
    needed = _runs_of((row for row in every if row.row not in excluded), specs)
    for run in _runs_of((row for row in every if row.row in excluded), specs) - needed:
        del specs[run]
    rows = {name: [*_without(those, excluded)] for name, those in rows.items()}
    tables = {name: _shown(table, rows, planners) for name, table in paper.tables.items()}
    return Plan(specs, tables, frozenset(row.row for row in every))


def check_excluded(names: Iterable[str], plans: Mapping[str, Plan], papers: Container[str]) -> None:
    """Raise `BadInput` for a name in config key exclude_rows that is no row of the planned papers.

    A name may begin with its paper's name and a slash; papers that are not planned are not checked.
    """
    rows = {name: name for plan in plans.values() for name in plan.names}
    rows |= {f"{paper}/{name}": name for paper, plan in plans.items() for name in plan.names}
    for name in names:
        paper = name.partition("/")[0]
        if name in rows or (paper in papers and paper not in plans):
            continue
        lower = {row.lower(): row for row in rows}
        near = [repr(lower[row]) for row in get_close_matches(name.lower(), lower, n=3)]
        do = f"did you mean {' or '.join(near)}" if near else "take the name from the table"
        raise BadInput(f"exclude_rows = {name!r} is no row of {', '.join(plans)}", where="config", do=do)


def _runs_of(rows: Iterable[Row], specs: Mapping[Run, Spec]) -> set[Run]:
    """The runs of these rows, and the runs that these depend on."""
    needed: set[Run] = set()
    waiting = [run for row in rows for runs in row.runs.values() for run in runs]
    while waiting:
        if (run := waiting.pop()) not in needed:
            needed.add(run)
            spec = specs[run]
            waiting += [*spec.needs, *spec.sources, *([spec.choice] if spec.choice else [])]
    return needed


def _without(rows: Iterable[Row], excluded: Container[str]) -> Iterator[Row]:
    for row in rows:
        if row.row not in excluded:
            yield row
        elif not row.own:
            yield replace(row, runs={}, reason=EXCLUDED)


def _shown(table: TableEntry, rows: Mapping[str, list[Row]], planners: Mapping[str, Planner]) -> list[dict]:
    if not table.rows:
        return []
    conditions = table.conditions or (planners[table.of].MAIN,)
    return shown(rows[table.of], table.rows, () if conditions == ALL else conditions)
