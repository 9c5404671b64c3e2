"""Rows that are not run: outputs of a job whose row cannot be computed, for example
after a refused API key.

Each of the job's outputs then has the reason, as `{"not_run": "<sentence>"}`, instead
of a result.  Jobs that read such a file write the same, up to the table, which shows
the reason.  Before the next run is planned these files and the pages that show them are
deleted (`drop`), so that their jobs run again.
"""

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import glob
from pathlib import Path

from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import json_value
from lextables.pipeline.redaction import without_folders

KEY = "not_run"
LONGEST = 1000  # characters of a reason
# Folders of the results whose outputs may contain a reason.
PLACES = ("runs", "features")
_SUBMITTED = "/submitted/"  # in the paths of runs of submitted predictions
_IN_FOLDER = f"{KEY}.json"  # for an output folder: a file in it
_START = f'{{"{KEY}": '.encode()  # of a file with a reason
# More than the bytes of any such file: JSON writes a character in at most 12.
_BYTES = 16 * LONGEST


def reason(path: str | Path) -> str:
    """Return the reason in the output ``path``, a file or a folder; empty if the output
    is a result.
    """
    path = Path(path)
    if path.is_dir():
        path = path / _IN_FOLDER
    with suppress(OSError), path.open("rb") as file:
        start = file.read(_BYTES)
        if start.startswith(_START):
            record = json_value(start, str(path), "delete it, and repeat the command")
            return record[KEY]
    return ""


def of_run(folder: Path) -> str:
    """Return the reason in the record or the scores of the run in ``folder``; empty for
    a run with scores.
    """
    return reason(folder / "run.json") or reason(folder / "scores.parquet")


def inherited(inputs: Iterable[str]) -> str:
    """Return the first reason among a job's inputs; empty if all of them are
    results.
    """
    for path in inputs:
        why = reason(path) if _may_have_reason(path) else ""
        if why:
            return why
    return ""


def fills_rows(outputs: Iterable[str]) -> bool:
    """Whether a job only fills rows of tables.

    The check of submitted predictions does more: a user must correct their faults.
    """
    outputs = list(outputs)
    if any(_SUBMITTED in path for path in outputs):
        return False
    return bool(outputs) and all(_may_have_reason(path) for path in outputs)


def leave(outputs: Iterable[str], why: str) -> None:
    """Write the reason ``why`` to each output; an output without a suffix is a folder.

    Tables show the reason, so absolute paths in it are cut to their names.
    """
    text = json.dumps({KEY: without_folders(why)[:LONGEST]}) + "\n"
    for path in map(Path, outputs):
        if path.suffix:
            write_text(path, text)
        else:
            shutil.rmtree(path, ignore_errors=True)
            write_text(path / _IN_FOLDER, text)


def without_reason(paths: Iterable[str]) -> list[str]:
    """Return the ``paths`` of results, without those that contain a reason."""
    return [path for path in paths if not reason(path)]


def reasons(results: str | Path) -> list[str]:
    """Return the different reasons in the outputs below ``results``."""
    return [*dict.fromkeys(why for _, why in _files_with_reason(Path(results)))]


def drop(results: str | Path) -> set[str]:
    """Delete all files written by `leave` below ``results``; return their folders,
    relative to it.
    """
    places = set()
    for path, _ in [*_files_with_reason(Path(results))]:
        path.unlink()
        places.add(path.parent.relative_to(results).as_posix())
        if path.name == _IN_FOLDER:
            path.parent.rmdir()
    return places


def _files_with_reason(results: Path) -> Iterator[tuple[Path, str]]:
    """Yield each file with a reason below ``results``, and the reason."""
    for place in PLACES:
        folder = results / place
        # A folder may be a link to another disk; `Path.glob` does not follow links.
        names = glob("**", root_dir=folder, recursive=True, include_hidden=True)  # noqa: PTH207
        for path in sorted(folder / name for name in names):
            with suppress(OSError):
                if path.is_dir() or path.stat().st_size > _BYTES:
                    continue
                why = reason(path)
                if why:
                    yield path, why


def _may_have_reason(path: str) -> bool:
    """Whether a path is in one of `PLACES`."""
    return any(f"/{place}/" in path for place in PLACES)
