"""Runs of submitted predictions, scored in a temporary folder by the code of the
rules.
"""

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from lextables import ROOT
from lextables.notebook.partial import copy_without
from lextables.notebook.project import Data, DataSet, data_set, path_of, registry
from lextables.pipeline.config import load as load_config
from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import Run
from lextables.planning import submitted
from lextables.planning.jobs import Jobs, PlannedJob
from lextables.planning.project import Project
from lextables.planning.project import load as load_project
from lextables.planning.rule_values import Params
from lextables.registry import modules
from lextables.sources.entries import registry_texts
from lextables.tables import published
from lextables.tables.cells import Cell
from lextables.tables.inputs import Inputs, data_note, provenance
from lextables.tasks.job import Job
from lextables.tasks.planner import SUBMITTED
from lextables.tasks.submitted import Incomplete

Files = str | Path | Sequence[str | Path]  # a file, or one for each seed


@dataclass(frozen=True)
class ScoredRuns:
    """The scored runs of a data set of a ``project``; their folders are below
    ``root``.

    ``data_note`` says why the data are not comparable with the paper's; else empty.
    ``left_out`` is the number of test items that were left out because a file lacks
    them.
    """

    data_set_name: str
    project: Project
    root: Path
    data_note: str
    left_out: int

    @property
    def paper(self) -> str:
        """The paper of the data set."""
        return self.project.paper_of[self.data_set_name]

    @property
    def folders(self) -> list[str]:
        """The folders of the runs, in the order of the files."""
        return [run.folder for run in _submitted_runs(self.project)]

    @property
    def tables(self) -> list[str]:
        """The tables that show the runs."""
        shown = []
        for table, rows in self.project.plans[self.paper].rows.items():
            if any(row["submitted"] for row in rows):
                shown.append(table)
        return shown

    def rows(self, table: str) -> list[Params]:
        """Return the rows of a table, in which only submitted predictions have runs."""
        rows = []
        for row in self.project.plans[self.paper].rows[table]:
            if not row["submitted"]:
                row = {**row, "runs": {}, "reason": "not scored here"}
            rows.append(row)
        return rows

    def inputs(self, rows: Sequence[Params], table: str = "") -> Inputs:
        """Return the inputs of a table with these rows."""
        values = published.load(self.project.published_values(self.paper))
        return Inputs(
            data=Path(self.project.results, "data", self.data_set_name),
            root=self.root,
            rows=rows,
            published=[cell for cell in values if cell.table == table],
            paper=self.project.papers[self.paper],
            name=table,
        )

    def cells(self, table: str) -> list[Cell]:
        """Return the cells of a table, in which only submitted predictions have
        values.
        """
        tables = modules.module(self.paper, "tables")
        return list(tables.cells(table, self.inputs(self.rows(table), table)))


@contextlib.contextmanager
def scored_runs(
    name: str,
    systems: Mapping[str, Files],
    format: str | None,
    data: Data,
    folder: str | Path | None,
    partial: bool = False,
) -> Iterator[ScoredRuns]:
    """Yield the scored runs of ``systems``, {name of a row: its files}.

    ``name`` is a data set, or a paper for its data set that the files fit.  Inside the
    block the working folder is ``folder``, or with ``partial`` a copy with what was
    predicted.  The arguments are those of `scoring.score`, which also says
    what is raised.
    """
    papers = registry()
    # The systems as rows of submitted predictions in a configuration.
    entries = []
    for row, files in systems.items():
        entries.append(_entry(row, name, files, format))
    values = {"papers": sorted(papers), "extra_predictions": entries}
    try:
        config = load_config(values, sorted(papers), ROOT)
    except BadInput as error:
        raise BadInput(
            error.what, where="lextables", do="correct the argument"
        ) from None
    # All files must fit the same data set.
    data_set_name = ""
    for extra in config.extra_predictions:
        where = f"lextables, {extra.name}"
        fitting_name, _ = submitted.data_set_and_form(extra, papers, where)
        if data_set_name and fitting_name != data_set_name:
            what = f"its predictions are for {fitting_name}, others for {data_set_name}"
            raise BadInput(what, where=where, do="compare systems on one data set")
        data_set_name = fitting_name
    built = data_set(data_set_name, data, folder)
    built.check_built()
    # The runs that the pipeline would make of these rows, below a temporary folder.
    values = {**values, "data": built.data, "papers": [built.paper]}
    with (
        contextlib.chdir(built.folder),
        tempfile.TemporaryDirectory(prefix="lextables-") as root,
    ):
        project = load_project(ROOT, ROOT, {}, values)
        jobs = Jobs(project)
        left_out = 0
        if partial:
            copy = Path(root, "predicted")
            left_out = _copy_predicted(jobs, built, copy)
            os.chdir(copy)
        for run in _submitted_runs(project):
            _score(jobs, run, Path(root, run.folder))
        note = _data_note(project, built.path / "census.json")
        yield ScoredRuns(data_set_name, project, Path(root), note, left_out)


def _data_note(project: Project, census: Path) -> str:
    """Return which data of a census are not comparable with the paper's, and why; else
    empty.
    """
    texts = registry_texts(project.sources, project.sources)
    others = [each for each in provenance(census, texts) if not each["comparable"]]
    note = data_note(others)
    reasons = dict.fromkeys(source.get("note", "") for source in others)
    reason = "; ".join(filter(None, reasons))
    return f"{note} ({reason})" if reason else note


def _copy_predicted(jobs: Jobs, built: DataSet, copy: Path) -> int:
    """Copy a data set to the working folder ``copy``, without test items that a file
    lacks; return their number.

    Raises `BadInput` for a file that is wrong in another way, or if no item is left.
    """
    missing: set[Any] = set()
    for run in _submitted_runs(jobs.project):
        try:
            _store(jobs, run, copy / "checked" / run.folder)
        except Incomplete as error:
            if len(error.missing) == error.expected:
                raise
            missing.update(error.missing)
            if len(missing) == error.expected:
                what = "no test item is predicted by all files"
                do = "give files that predict the same items"
                raise BadInput(what, where="lextables", do=do) from None
    target = copy / built.path.relative_to(built.folder)
    copy_without(built.path, target, jobs.project.tasks[built.name], missing)
    return len(missing)


def _entry(row: str, name: str, files: Files, format: str | None) -> dict[str, object]:
    """Return an entry of the config key ``extra_predictions``, in which ``paper`` may
    also be a data set.
    """
    if isinstance(files, str | bytes) or not isinstance(files, Iterable):
        files = [files]
    entry: dict[str, object] = {
        "name": row,
        "paper": name,
        "file": [str(path_of(file)) for file in files],
    }
    if format is not None:
        entry["format"] = format
    return entry


def _submitted_runs(project: Project) -> list[Run]:
    return [run for run in project.specs if run.experiment == SUBMITTED]


def _score(jobs: Jobs, run: Run, folder: Path) -> None:
    """Check and score submitted predictions, as the rules do."""
    predictions = _store(jobs, run, folder)
    names = {"scores": "scores.parquet", "units": "units.parquet"}
    _do(jobs.score(run), {"predictions": predictions}, folder, names)


def _store(jobs: Jobs, run: Run, folder: Path) -> list[str]:
    """Check submitted predictions, and write them into ``folder``; return the file."""
    names = {"predictions": "predictions.parquet", "record": "run.json"}
    # The job that makes a submitted run is the check of its file.
    return _do(jobs.of_runs(run), {}, folder, names)["predictions"]


def _do(
    planned: PlannedJob,
    inputs: Mapping[str, list[str]],
    folder: Path,
    names: Mapping[str, str],
) -> dict[str, list[str]]:
    """Do a planned job with other ``inputs``; return its outputs, {role: files}."""
    outputs = {role: [str(folder / name)] for role, name in names.items()}
    job = Job({**planned.inputs, **inputs}, outputs, **planned.params)
    import_module(f"lextables.tasks.{planned.action.module}").run(job)
    return outputs
