"""The registry of papers: `resources/papers/<paper>.yaml`, one form for all.

A paper names its data sets and the files that they are read from, the task that each is given to, and its
tables with the rows that they show.  A room whose reader or tables need more adds keys in a subclass of
`Paper` (its module ``registry``); else a paper's file is all.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from lextables.papers.publication import Publication
from lextables.pipeline.errors import BadInput
from lextables.pipeline.registry import Entry
from lextables.pipeline.run import Run
from lextables.sources.registry import Source
from lextables.tasks.answers.plan import AnswersPlanner, AnswersTask
from lextables.tasks.classification.plan import ClassificationPlanner, ClassificationTask
from lextables.tasks.plan import Context, Plan, Planner, Row, Spec, shown
from lextables.tasks.retrieval.plan import RetrievalPlanner, RetrievalTask
from lextables.tasks.spans.plan import SpanPlanner, SpanTask

Task = Annotated[RetrievalTask | SpanTask | ClassificationTask | AnswersTask, Field(discriminator="task")]
PLANNERS: dict[str, type[Planner]] = {
    "retrieval": RetrievalPlanner,
    "spans": SpanPlanner,
    "classification": ClassificationPlanner,
    "answers": AnswersPlanner,
}
ALL = "all"
EXCLUDED = "excluded in the configuration"


class DataSet(Entry):
    """A data set: what its room's reader is given, and what it must hold before any run starts.

    ``files`` are published ones, as `<source>/<file>`; one that is there in ``instead`` is taken where a
    mirror has it and lacks any of those.  ``facts`` are files of `resources/facts`.  ``given`` are keys of
    the paper's registry.  The ``census`` goes by the variant of the first of the files.  ``reader`` is the
    part of the package that has its reader and schema, where that is not the paper's room.

    What is ``auxiliary`` stops nothing where it is not to be had (`lextables.papers.auxiliary`).
    """

    files: Mapping[str, str | tuple[str, ...]] = Field(min_length=1)
    instead: Mapping[str, str] = {}
    facts: Mapping[str, str] = {}
    given: tuple[str, ...] = ()
    census: Mapping[str, Mapping[str, Any]] = {}
    reader: str = Field("", pattern=r"^([a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)*)?$")
    auxiliary: bool = False

    def package(self, paper: str) -> str:
        """The place of its reader and schema, as `packages.module` finds it."""
        return self.reader or paper

    def named(self, mirrors: list[Path]) -> dict[str, list[str]]:
        """{name: its files}, each with what is taken in its place."""
        found = {}
        for name, files in self.files.items():
            several = [files] if isinstance(files, str) else list(files)
            other = self.instead.get(name)
            if other and _in(mirrors, other) and not all(_in(mirrors, file) for file in several):
                several = [other]
            found[name] = several
        return found


def _in(mirrors: list[Path], file: str) -> bool:
    return any((mirror / file).is_file() for mirror in mirrors)


class Headline(Entry):
    """The one score of a table by which a leaderboard over all papers goes.

    It stands in a ``column``, whose rows are then the systems, or in a ``row``, whose columns are.
    ``contest`` is what the table compares it by, where that is not the column's or row's own name
    (`cells.Score`), and ``lower`` says that a lower score is better.  ``chance`` are rows that know nothing,
    such as random answers: they have no rank, and where none of the others is better nothing has.
    """

    column: str = ""
    row: str = ""
    contest: str = ""
    lower: bool = False
    chance: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _in_one_place(self) -> "Headline":
        if bool(self.column) == bool(self.row):
            raise ValueError("a headline is a column or a row")
        return self

    @property
    def measure(self) -> str:
        """The name of its contest."""
        return self.contest or self.column or self.row


class Difference(Entry):
    """Why cells of a table are off: all of them, or those in some of its ``rows`` or ``columns``."""

    why: str = Field(min_length=1)
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()


class TableEntry(Entry):
    """One printed table or figure: what it shows, where it stands in the paper, a figure's kind.

    Its ``rows`` come from the runs on the data set ``of``: of one of these mappings each field is the row's.
    ``conditions`` are those whose runs it shows, by default the task's main one.  ``names`` are the rows and
    columns that its code must know by name.  ``beside`` are other data sets that it shows, where here, and
    ``file`` is the config key of a user's file that it shows, where named.  ``headline`` is what the
    leaderboard takes from it.  ``differences`` explain the cells that are off: of each the first that names
    it.
    """

    title: str
    where: str
    kind: str | None = None
    notes: tuple[str, ...] = ()
    of: str | None = None
    rows: tuple[Mapping[str, Any], ...] = ()
    conditions: tuple[str, ...] | str = ()
    names: Mapping[str, Any] = {}
    beside: tuple[str, ...] = ()
    file: str = ""
    headline: Headline | None = None
    differences: tuple[Difference, ...] = ()

    def why_off(self, row: str, column: str) -> str:
        """The explanation of a cell that is off, or nothing."""
        return next(
            (
                found.why
                for found in self.differences
                if row in (found.rows or (row,)) and column in (found.columns or (column,))
            ),
            "",
        )


class Shown(Entry):
    """What a reader sees of a paper: its title, how to cite it, and its tables."""

    title: str
    citation: str
    tables: Mapping[str, TableEntry] = Field(min_length=1)


class Paper(Shown):
    """What every paper's file holds.

    ``sources`` are entries as in `resources/sources.yaml`, for a paper that brings its own.
    """

    sources: Mapping[str, Source] = {}
    data: Mapping[str, DataSet] = {}
    tasks: Mapping[str, Task] = {}
    publish: Publication = Publication()

    @model_validator(mode="after")
    def _names_what_there_is(self) -> "Paper":
        for name, table in self.tables.items():
            if table.rows and table.of not in self.tasks:
                raise ValueError(f"table {name} shows rows of {table.of!r}, which is no task of the paper")
            if unknown := sorted(set(table.beside) - self.data.keys()):
                raise ValueError(f"table {name} shows {unknown[0]!r}, which is no data set of the paper")
        for name, entry in self.data.items():
            if unknown := sorted(set(entry.given) - type(self).model_fields.keys()):
                raise ValueError(f"the data set {name} is given {unknown[0]!r}, which is no key of the paper")
        return self


def plan(paper: Paper, context: Context, excluded: Collection[str] = ()) -> Plan:
    """Lay out the runs of a paper under a configuration, and the rows of each of its tables.

    Of the rows called ``excluded`` a published one is not run, and an additional one is left out, both with
    the runs that no other row needs.
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
    """Raise `BadInput` for a name in config key exclude_rows that no row of the planned papers has.

    A name may begin with its paper's and a slash; those of ``papers`` that are not planned are not checked.
    """
    known = {name: name for plan in plans.values() for name in plan.names}
    known |= {f"{paper}/{name}": name for paper, plan in plans.items() for name in plan.names}
    for name in names:
        paper = name.partition("/")[0]
        if name in known or (paper in papers and paper not in plans):
            continue
        lower = {one.lower(): one for one in known}
        near = [repr(lower[one]) for one in get_close_matches(name.lower(), lower, n=3)]
        do = f"did you mean {' or '.join(near)}" if near else "take the name from the table"
        raise BadInput(f"exclude_rows = {name!r} is no row of {', '.join(plans)}", where="config", do=do)


def _runs_of(rows: Iterable[Row], specs: Mapping[Run, Spec]) -> set[Run]:
    """The runs of these rows, and all that these go by."""
    found: set[Run] = set()
    waiting = [run for row in rows for runs in row.runs.values() for run in runs]
    while waiting:
        if (run := waiting.pop()) not in found:
            found.add(run)
            spec = specs[run]
            waiting += [*spec.needs, *spec.sources, *([spec.choice] if spec.choice else [])]
    return found


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
