"""Submitted predictions (config key ``extra_predictions``): their data set and format.

This is checked before anything runs.  The content of the files is checked by the rule that reads them
(`lextables.tasks.submitted`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.papers.planning import PLANNERS
from lextables.papers.registry import Paper
from lextables.pipeline.config import Config, ExtraPredictions
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.tasks.plan import SubmittedFiles

PACKED = ".gz"


@dataclass(frozen=True)
class Found:
    """``rows``: {data set: its submitted files}; ``places``: {digest of a file: where it is}."""

    rows: Mapping[str, list[SubmittedFiles]]
    places: Mapping[str, str]


def find(config: Config, papers: Mapping[str, Paper], contents: Contents) -> Found:
    """Find the data set of each of the config's ``extra_predictions``, for the config's papers.

    ``papers`` are all papers of the registry.  Raises `BadInput` for an unknown paper, data set or format,
    for a file that is missing, empty or listed twice, and for two rows with the same name.
    """
    data_sets = {name for paper in config.papers for name in papers[paper].tasks}
    rows: dict[str, list[SubmittedFiles]] = {}
    places: dict[str, str] = {}
    for extra in config.extra_predictions:
        where = f"config, extra_predictions, {extra.name}"
        name, form = fits(extra, papers, where)
        if name not in data_sets:
            continue
        if any(other.key == extra.key for other in rows.get(name, ())):
            raise BadInput(
                f"the row appears twice for {name}",
                where=where,
                do="list each row once, with a list of files for several seeds",
            )
        digests: dict[str, str] = {}
        for file in extra.file:
            digest = _content(file, contents, where)
            if other := digests.get(digest):
                raise BadInput(
                    f"the files {other!r} and {file!r} have the same content",
                    where=where,
                    do="list a different file for each seed",
                )
            digests[digest] = file
            places[digest] = str(Path(file).resolve())
        rows.setdefault(name, []).append(
            SubmittedFiles(extra.name, extra.key, form, tuple(digests))
        )
    return Found(rows, places)


def fits(
    extra: ExtraPredictions, papers: Mapping[str, Paper], where: str
) -> tuple[str, str]:
    """Return the data set and the format of submitted predictions; `BadInput` if none or several fit.

    The name of a paper stands for its data sets with predictions in this format.  Data sets without a score
    in a table, which are only used for training, do not count.
    """
    of_paper = {name: _tasks_in_tables(paper) for name, paper in papers.items()}
    tasks = {
        name: task for scored in of_paper.values() for name, task in scored.items()
    }
    names = list(of_paper[extra.paper]) if extra.paper in papers else [extra.paper]
    if not set(names) <= tasks.keys():
        choices = ", ".join(
            sorted({*tasks, *(name for name, scored in of_paper.items() if scored)})
        )
        raise BadInput(
            f"paper = {extra.paper!r} is neither a paper nor a data set of the registry",
            where=where,
            do=f"choose from {choices}",
        )
    forms = {name: PLANNERS[tasks[name].task].forms(tasks[name]) for name in names}
    allowed = sorted({form for problem in forms.values() for form in problem})
    if not allowed:
        raise BadInput(
            f"{extra.paper} has no scores of predictions",
            where=where,
            do="remove the entry",
        )
    form_of = {
        name: form for name, problem in forms.items() if (form := _form(extra, problem))
    }
    if extra.paper in form_of:
        return extra.paper, form_of[extra.paper]
    if not form_of and extra.format:
        raise BadInput(
            f"format = {extra.format!r} is not a format for {extra.paper}",
            where=where,
            do=f"choose from {', '.join(allowed)}",
        )
    if not form_of:
        problem = "the format is not clear from the files' names"
        raise BadInput(
            problem
            if len(extra.file) > 1
            else f"the format is not clear from the name {extra.file[0]!r}",
            where=where,
            do=f"add a format: {' or '.join(allowed)}",
        )
    if len(form_of) > 1:
        raise BadInput(
            f"paper = {extra.paper!r} has several data sets with predictions in this format",
            where=where,
            do=f"use one of {', '.join(sorted(form_of))} instead",
        )
    return next(iter(form_of.items()))


def _tasks_in_tables(paper: Paper) -> dict[str, Any]:
    """{data set: its task} of the data sets with a score in a table."""
    table_data = {table.of for table in paper.tables.values()}
    return {name: task for name, task in paper.tasks.items() if name in table_data}


def _form(extra: ExtraPredictions, forms: Mapping[str, Iterable[str]]) -> str | None:
    """The format of a user's files: as configured, or by the file names; one of ``forms``."""
    if extra.format:
        return extra.format if extra.format in forms else None
    endings = {Path(file.lower().removesuffix(PACKED)).suffix for file in extra.file}
    return next(
        (form for form, suffixes in forms.items() if endings <= set(suffixes)), None
    )


def _content(file: str, contents: Contents, where: str) -> str:
    """The digest of a file that exists and is not empty."""
    path = Path(file)
    fault = ""
    try:
        if path.is_dir():
            fault = "is a folder; give the file in it"
        elif not path.exists():
            fault = "does not exist; give an existing file"
        elif not path.is_file():
            fault = "is not a file; give a file"
        elif not path.stat().st_size:
            fault = "is empty; write it again"
        else:
            return contents.file(path)
    except (
        OSError,
        ValueError,
    ) as error:  # for example a name that is too long or has a NUL
        fault = f"cannot be read ({getattr(error, 'strerror', None) or error}); give another file"
    what, _, do = fault.partition("; ")
    raise BadInput(f"the file {file!r} {what}", where=where, do=do)
