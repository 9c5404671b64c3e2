"""Submitted predictions (config key ``extra_predictions``): their data set and format.

This is checked before anything runs.  The content of the files is checked by the rule that reads them
(`lextables.tasks.submitted`).
"""

from collections.abc import (
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.papers.planning import PLANNERS
from lextables.papers.registry import Paper
from lextables.pipeline.config import (
    Config,
    ExtraPredictions,
)
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.tasks.plan import SubmittedFiles

PACKED = ".gz"


@dataclass(frozen=True)
class Found:
    """``rows``: {data set: its submitted files}; ``places``: {digest of a file: where it is}."""

    rows: Mapping[str, list[SubmittedFiles]]
    places: Mapping[str, str]


def find(
    config: Config,
    papers: Mapping[str, Paper],
    contents: Contents,
) -> Found:
    """Find the data set of each of the config's ``extra_predictions``, for the config's papers.

    ``papers`` are all papers of the registry.  Raises `BadInput` for an unknown paper, data set or format,
    for a file that is missing, empty or listed twice, and for two rows with the same name.
    """
    planned: set[str] = set()
    for paper in config.papers:
        planned.update(papers[paper].tasks)
    rows: dict[str, list[SubmittedFiles]] = {}
    places: dict[str, str] = {}
    for extra in config.extra_predictions:
        where = f"config, extra_predictions, {extra.name}"
        name, form = fits(extra, papers, where)
        if name not in planned:
            continue
        of_data_set = rows.setdefault(name, [])
        if extra.key in {other.key for other in of_data_set}:
            what = f"the row appears twice for {name}"
            do = "list each row once, with a list of files for several seeds"
            raise BadInput(what, where=where, do=do)
        digests: dict[str, str] = {}
        for file in extra.file:
            digest = _content(file, contents, where)
            if digest in digests:
                what = (
                    f"the files {digests[digest]!r} and {file!r} have the same content"
                )
                do = "list a different file for each seed"
                raise BadInput(what, where=where, do=do)
            digests[digest] = file
            places[digest] = str(Path(file).resolve())
        of_data_set.append(
            SubmittedFiles(
                extra.name,
                extra.key,
                form,
                tuple(digests),
            )
        )
    return Found(rows, places)


def fits(
    extra: ExtraPredictions,
    papers: Mapping[str, Paper],
    where: str,
) -> tuple[str, str]:
    """Return the data set and the format of submitted predictions; `BadInput` if none or several fit.

    The name of a paper stands for its data sets with predictions in this format.  Data sets without a score
    in a table, which are only used for training, do not count.
    """
    of_paper = {name: _tasks_in_tables(paper) for name, paper in papers.items()}
    tasks: dict[str, Any] = {}
    for scored in of_paper.values():
        tasks.update(scored)
    names = list(of_paper.get(extra.paper, [extra.paper]))
    if not tasks.keys() >= set(names):
        with_scores = [name for name, scored in of_paper.items() if scored]
        what = (
            f"paper = {extra.paper!r} is neither a paper nor a data set of the registry"
        )
        do = f"choose from {', '.join(sorted({*tasks, *with_scores}))}"
        raise BadInput(what, where=where, do=do)
    allowed: set[str] = set()
    form_of = {}
    for name in names:
        forms = PLANNERS[tasks[name].task].forms(tasks[name])
        allowed.update(forms)
        form = _form(extra, forms)
        if form:
            form_of[name] = form
    if not allowed:
        what = f"{extra.paper} has no scores of predictions"
        raise BadInput(what, where=where, do="remove the entry")
    if extra.paper in form_of:
        return extra.paper, form_of[extra.paper]
    if not form_of:
        raise _unknown_form(extra, sorted(allowed), where)
    if len(form_of) > 1:
        what = f"paper = {extra.paper!r} has several data sets with predictions in this format"
        do = f"use one of {', '.join(sorted(form_of))} instead"
        raise BadInput(what, where=where, do=do)
    return next(iter(form_of.items()))


def _unknown_form(
    extra: ExtraPredictions,
    allowed: Sequence[str],
    where: str,
) -> BadInput:
    if extra.format:
        what = f"format = {extra.format!r} is not a format for {extra.paper}"
        return BadInput(what, where=where, do=f"choose from {', '.join(allowed)}")
    named = "the files' names"
    if len(extra.file) == 1:
        named = f"the name {extra.file[0]!r}"
    what = f"the format is not clear from {named}"
    return BadInput(what, where=where, do=f"add a format: {' or '.join(allowed)}")


def _tasks_in_tables(paper: Paper) -> dict[str, Any]:
    """{data set: its task} of the data sets with a score in a table."""
    table_data = {table.of for table in paper.tables.values()}
    return {name: task for name, task in paper.tasks.items() if name in table_data}


def _form(extra: ExtraPredictions, forms: Mapping[str, Iterable[str]]) -> str | None:
    """The format of a user's files: as configured, or by the file names; one of ``forms``."""
    if extra.format:
        return extra.format if extra.format in forms else None
    endings = {Path(file.lower().removesuffix(PACKED)).suffix for file in extra.file}
    for form, suffixes in forms.items():
        if endings <= set(suffixes):
            return form
    return None


def _content(
    file: str,
    contents: Contents,
    where: str,
) -> str:
    """The digest of a file that exists and is not empty."""
    path = Path(file)
    try:
        if path.is_dir():
            what, do = "is a folder", "give the file in it"
        elif not path.exists():
            what, do = "does not exist", "give an existing file"
        elif not path.is_file():
            what, do = "is not a file", "give a file"
        elif not path.stat().st_size:
            what, do = "is empty", "write it again"
        else:
            return contents.file(path)
    except (OSError, ValueError) as error:  # a name that is too long, or has a NUL
        reason = getattr(error, "strerror", None) or error
        what, do = f"cannot be read ({reason})", "give another file"
    raise BadInput(f"the file {file!r} {what}", where=where, do=do)
