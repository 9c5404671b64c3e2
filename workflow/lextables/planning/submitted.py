"""Submitted predictions (config key ``extra_predictions``): their data set and format.

These are checked before anything runs.  The content of the files is checked by the rule
that reads them (`lextables.tasks.submitted`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.pipeline.config import Config, ExtraPredictions
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.planning.paper_plan import PLANNERS
from lextables.registry.paper import Paper
from lextables.tasks.planner import SubmittedFiles
from lextables.tasks.submitted import check_size

PACKED = ".gz"  # after the suffix of a compressed file


@dataclass(frozen=True)
class SubmittedRows:
    """The submitted predictions of the planned papers.

    ``rows`` are {data set: its submitted files}, and ``places`` {digest of a file: its
    path}.
    """

    rows: Mapping[str, list[SubmittedFiles]]
    places: Mapping[str, str]


def find(
    config: Config, papers: Mapping[str, Paper], contents: Contents
) -> SubmittedRows:
    """Find the data set of each of the config's ``extra_predictions``, for the config's
    papers.

    ``papers`` are all papers of the registry.  Raises `BadInput` for an unknown paper,
    data set or format, for a file that is missing, empty or listed twice, and for two
    rows with the same name.
    """
    planned: set[str] = set()
    for paper in config.papers:
        planned.update(papers[paper].tasks)
    rows: dict[str, list[SubmittedFiles]] = {}
    places: dict[str, str] = {}
    row_keys: set[tuple[str, str]] = set()  # data sets and rows
    for extra in config.extra_predictions:
        where = f"config, extra_predictions, {extra.name}"
        name, form = data_set_and_form(extra, papers, where)
        if name not in planned:
            continue
        data_set_files = rows.setdefault(name, [])
        if (name, extra.key) in row_keys:
            raise BadInput(
                f"the row appears twice for {name}",
                where=where,
                do="list each row once, with a list of files for several seeds",
            )
        row_keys.add((name, extra.key))
        digests: dict[str, str] = {}
        for file in extra.file:
            digest = _content(file, contents, where)
            if digest in digests:
                other = digests[digest]
                raise BadInput(
                    f"the files {other!r} and {file!r} have the same content",
                    where=where,
                    do="list a different file for each seed",
                )
            digests[digest] = file
            places[digest] = str(Path(file).resolve())
        files = SubmittedFiles(extra.name, extra.key, form, tuple(digests))
        data_set_files.append(files)
    return SubmittedRows(rows, places)


def data_set_and_form(
    extra: ExtraPredictions, papers: Mapping[str, Paper], where: str
) -> tuple[str, str]:
    """Return the data set and the format of submitted predictions; `BadInput` if none
    or several fit.

    The entry's ``paper`` is a data set, or a paper, which stands for its data sets with
    predictions in this format.  Data sets without a score in a table, which are only
    used for training, do not count.
    """
    tasks: dict[str, Any] = {}  # of all data sets that an entry may name
    choices: set[str] = set()  # these data sets and their papers
    for name, paper in papers.items():
        scored = _tasks_in_tables(paper)
        tasks.update(scored)
        choices.update(scored)
        if scored:
            choices.add(name)
    names = [extra.paper]
    if extra.paper in papers:
        names = list(_tasks_in_tables(papers[extra.paper]))
    elif extra.paper not in tasks:
        raise BadInput(
            f"paper = {extra.paper!r} is neither a paper nor a data set of the registry",
            where=where,
            do=f"choose from {', '.join(sorted(choices))}",
        )
    allowed: set[str] = set()
    form_of = {}  # {data set: the format of the files}, where it is one of its formats
    for name in names:
        forms = PLANNERS[tasks[name].task].forms(tasks[name])
        allowed.update(forms)
        form = _form(extra, forms)
        if form:
            form_of[name] = form
    if not allowed:
        what = f"{extra.paper} has no scores of predictions"
        raise BadInput(what, where=where, do="remove the entry")
    if not form_of:
        raise _unknown_form(extra, sorted(allowed), where)
    # A paper may have the name of one of its data sets, which then counts.
    if extra.paper in form_of:
        return extra.paper, form_of[extra.paper]
    ((name, form), *others) = form_of.items()
    if others:
        raise BadInput(
            f"paper = {extra.paper!r} has several data sets with predictions in this"
            " format",
            where=where,
            do=f"use one of {', '.join(sorted(form_of))} instead",
        )
    return name, form


def _unknown_form(
    extra: ExtraPredictions, allowed: Sequence[str], where: str
) -> BadInput:
    """Return the error for a format that is not allowed, or not clear from the
    files.
    """
    if extra.format:
        return BadInput(
            f"format = {extra.format!r} is not a format for {extra.paper}",
            where=where,
            do=f"choose from {', '.join(allowed)}",
        )
    named = "the files' names"
    if len(extra.file) == 1:
        named = f"the name {extra.file[0]!r}"
    return BadInput(
        f"the format is not clear from {named}",
        where=where,
        do=f"add a format: {' or '.join(allowed)}",
    )


def _tasks_in_tables(paper: Paper) -> dict[str, Any]:
    """{data set: its task} of the data sets with a score in a table."""
    table_data = {table.of for table in paper.tables.values()}
    return {name: task for name, task in paper.tasks.items() if name in table_data}


def _form(extra: ExtraPredictions, forms: Mapping[str, Iterable[str]]) -> str | None:
    """The format of a user's files, one of ``forms``: as configured, or by their
    names.
    """
    if extra.format:
        return extra.format if extra.format in forms else None
    endings = set()
    for file in extra.file:
        unpacked = file.lower().removesuffix(PACKED)
        endings.add(Path(unpacked).suffix)
    for form, suffixes in forms.items():
        if endings.issubset(suffixes):
            return form
    return None


def _content(file: str, contents: Contents, where: str) -> str:
    """The digest of a file that exists and is not empty."""
    path = Path(file)
    try:
        if path.is_dir():
            what = "is a folder"
            do = "give the file in it"
        elif not path.exists():
            what = "does not exist"
            do = "give an existing file"
        elif not path.is_file():
            what = "is not a file"
            do = "give a file"
        elif not path.stat().st_size:
            what = "is empty"
            do = "write it again"
        else:
            check_size(path)
            return contents.file(path)
    except (OSError, ValueError) as error:  # a name that is too long, or has a NUL
        reason = getattr(error, "strerror", None) or error
        what = f"cannot be read ({reason})"
        do = "give another file"
    raise BadInput(f"the file {file!r} {what}", where=where, do=do)
