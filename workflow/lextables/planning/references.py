"""Checks that everything exists to which a paper's file refers by name.

A name of something in the same file or elsewhere is a `tasks.references.Reference`.
All are checked before anything is planned.  Names that only a built data set can
confirm, such as its columns, are checked by the jobs that read it.
"""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, get_args

from lextables.models.resolve import Model
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput
from lextables.planning import trained_on
from lextables.planning.paper_plan import ALL
from lextables.registry.paper import DataSet, Paper, TableEntry
from lextables.sources.entries import UNVERIFIED, Registry, resolve
from lextables.tasks.references import Names, Reference

Cell = Mapping[str, str]  # a row of a file of published values


def check(
    papers: Mapping[str, Paper],
    models: Mapping[str, Model],
    sources: Registry,
    root: Path,
) -> None:
    """Raise `BadInput` for the first name in a paper's file that does not exist.

    The message has the file, the key and the known names.  ``root`` is the folder of
    the project.
    """
    facts = sorted(path.name for path in (root / "resources/facts").glob("*"))
    splits = sorted(trained_on.known(papers))
    for name, paper in papers.items():
        file = f"{name}.yaml"
        for data_set, entry in paper.data.items():
            _check_files(file, data_set, entry, sources)
        cells = _published_cells(root / f"resources/published/{name}.csv")
        references = chain(
            _of_tasks(paper, _names(papers, paper, models, sources, root)),
            _of_data(paper, facts),
            _of_paper(name, paper, models, splits),
            _of_tables(name, paper, cells),
        )
        for reference in references:
            reference.check(file)


def _names(
    papers: Mapping[str, Paper],
    paper: Paper,
    models: Mapping[str, Model],
    sources: Registry,
    root: Path,
) -> Names:
    """Return the names that keys of the tasks of ``paper`` may refer to."""
    prompts = (root / "resources/prompts").glob("*.txt")
    grids = get_args(Config.model_fields["grid"].annotation)
    return Names(
        models=models,
        prompts=sorted(path.stem for path in prompts),
        grids=[grid for grid in grids if grid != "auto"],
        files={name: source.files for name, source in sources.items()},
        tasks=paper.tasks,
        tasks_of_all=[data_set for each in papers.values() for data_set in each.tasks],
        heads=paper.HEADS,
    )


def _published_cells(path: Path) -> list[Cell]:
    """Return the cells of a paper's published values.

    A paper that is being added may have none yet.  The jobs of tables check the file,
    which takes long, and report one that is no csv.
    """
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        try:
            return list(csv.DictReader(file))
        except csv.Error:
            return []


def _check_files(file: str, name: str, entry: DataSet, sources: Registry) -> None:
    """Raise `BadInput` if a data set names a published file that no source has, or a
    census of a variant that none of its files has.
    """
    paths: list[tuple[str, str]] = []  # with their keys
    for key, files in entry.files.items():
        several = (files,) if isinstance(files, str) else files
        paths += [(f"data.{name}.files.{key}", path) for path in several]
    for key, path in entry.instead.items():
        paths.append((f"data.{name}.instead.{key}", path))
    variants = {UNVERIFIED: None}
    for key, path in paths:
        source, _, source_file = path.partition("/")
        try:
            resolved = resolve(sources, source, source_file)
        except BadInput as error:
            where = f"{file}, {key}"
            raise BadInput(error.what, where=where, do=error.do) from None
        variants.update(dict.fromkeys(each.variant for each in resolved.candidates))
    Reference(f"data.{name}.census", "variant", entry.census, variants).check(file)


def _of_tasks(paper: Paper, names: Names) -> Iterator[Reference]:
    """Yield the references of all tasks of a paper."""
    tasks: Mapping[str, Any] = paper.tasks
    for data_set, task in tasks.items():
        yield from task.references(data_set, names)


def _of_data(paper: Paper, facts: Collection[str]) -> Iterator[Reference]:
    """Yield the references of a paper's data sets; ``facts`` are the files of
    `resources/facts`.
    """
    for name, entry in paper.data.items():
        key = f"data.{name}"
        yield Reference(f"{key}.instead", "key of files", entry.instead, entry.files)
        yield Reference(f"{key}.facts", "file", entry.facts.values(), facts)


def _of_paper(
    name: str, paper: Paper, models: Collection[str], splits: Collection[str]
) -> Iterator[Reference]:
    """Yield the references of the other keys of a paper, except its tables.

    ``splits`` are the data sets and splits of all papers.
    """
    data_sets = _data_sets(name, paper)
    yield Reference("texts", "data set", paper.texts, data_sets)
    for data_set, texts in paper.texts.items():
        yield from _without(f"texts.{data_set}.without", texts.without, splits)
    for key in paper.MODELS:
        value = getattr(paper, key)
        models_of_key = [value] if isinstance(value, str) else value
        yield Reference(key, "model", models_of_key, models)
    if paper.review:
        of = paper.review.of
        reviewing = paper.tasks[of].models
        kind = f"model of {of}"
        yield Reference("review.models", kind, paper.review.models, reviewing)


def _without(key: str, name: str, splits: Collection[str]) -> Iterator[Reference]:
    """Yield the reference to a data set or a split whose texts are left out.

    A data set without splits has only `all`, and the splits of one without a census are
    not known yet.
    """
    data_set, _, split = name.partition("/")
    known = [each for each in splits if each.startswith(f"{data_set}/")]
    if known and split:
        yield Reference(key, "split", [name], [*known, f"{data_set}/all"])
    else:
        yield Reference(key, "data set", [data_set], splits)


def _of_tables(name: str, paper: Paper, cells: Sequence[Cell]) -> Iterator[Reference]:
    """Yield the references of a paper's tables; ``cells`` are its published values."""
    data_sets = _data_sets(name, paper)
    for table_name, table in paper.tables.items():
        key = f"tables.{table_name}"
        yield Reference(f"{key}.of", "data set", [table.of], data_sets)
        if table.of and table.of in paper.tasks and table.conditions != ALL:
            known = paper.tasks[table.of].conditions
            yield Reference(f"{key}.conditions", "condition", table.conditions, known)
        shown = [cell for cell in cells if cell.get("table") == table_name]
        if shown:
            yield from _of_cells(key, table, shown)


def _of_cells(
    key: str, table: TableEntry, cells: Sequence[Cell]
) -> Iterator[Reference]:
    """Yield the references of a table to its published rows and columns."""
    rows = dict.fromkeys(cell.get("row") or "" for cell in cells)
    columns = dict.fromkeys(cell.get("column") or "" for cell in cells)
    for place, difference in enumerate(table.differences):
        where = f"{key}.differences.{place}"
        yield Reference(f"{where}.rows", "published row", difference.rows, rows)
        names = difference.columns
        yield Reference(f"{where}.columns", "published column", names, columns)


def _data_sets(name: str, paper: Paper) -> list[str]:
    """Return the data sets of a paper; one that rules of its own make has its name."""
    return list(dict.fromkeys((name, *paper.data, *paper.tasks)))
