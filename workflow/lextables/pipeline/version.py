"""The version and commit of lextables, and runs made with other versions of Python or
of a library.

Versions are written into records and never into a rule's params: a new version reruns
nothing by itself. Runs made with other versions are listed, and users can rerun them
(docs/design.md, What reruns).
"""

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from lextables import ROOT, __version__
from lextables.pipeline.atomic import write_text
from lextables.pipeline.files import JsonObject

RELEASED = "2026-11-23"  # the day of this version, as CITATION.cff has it
# Finds the versions in a record.  A record may also contain those of runs whose weights
# it read, but they are indented further.
_LIBRARIES = re.compile(r'^  "libraries": (\{[^}]*\})', re.M)
NAMED = 3  # runs that the warning names


def made_by() -> JsonObject:
    """Return the ``version``, the git ``commit``, and whether tracked files were
    ``modified`` since.

    ``commit`` and ``modified`` are None where the project is no git checkout of its
    own, such as an unpacked archive, or where git is not installed.
    """
    record: JsonObject = {"version": __version__, "commit": None, "modified": None}
    # The first line is where the checkout begins: an archive may lie inside the
    # checkout of something else.
    top, _, commit = _git("rev-parse", "--show-toplevel", "HEAD").partition("\n")
    if commit and ROOT.samefile(top):
        changes = _git("status", "--porcelain", "--untracked-files=no")
        record["commit"] = commit
        record["modified"] = bool(changes)
    return record


def version_text(record: JsonObject) -> str:
    """Put what `made_by` returns into words: ``0.1.0 (commit 1a2b3c4d5e,
    modified)``.
    """
    text = str(record["version"])
    if record["commit"]:
        note = f"commit {record['commit'][:10]}"
        if record["modified"]:
            note += ", modified"
        text += f" ({note})"
    return text


def day() -> str:
    """Return the day of the commit that the project is checked out at; empty where
    `made_by` knows none.
    """
    if not made_by()["commit"]:
        return ""
    return _git("show", "--no-patch", "--format=%cs", "HEAD")


def _git(*arguments: str) -> str:
    """Return what git prints of the project; nothing where there is no git or it
    fails.
    """
    # Without locks: jobs that run at the same time read the same checkout.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(
            command, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def snakemake_path() -> str:
    """Return how to start this Snakemake: `.venv/bin/snakemake` in a folder that `make
    run` set up.

    If the environment is outside of the working folder, it is taken to be active, and
    the result is `snakemake`.
    """
    program = Path(sys.executable).with_name("snakemake")
    installed = Path(".venv/bin/snakemake")
    exist = program.exists() and installed.exists()
    if exist and installed.samefile(program):  # `.venv` may be a link
        return installed.as_posix()
    if program.is_relative_to(Path.cwd()):
        return program.relative_to(Path.cwd()).as_posix()
    return program.name


def outdated(
    records: Iterable[Path], installed: Mapping[str, str]
) -> dict[Path, dict[str, str]]:
    """Return {record of a run: {library: its version then}} for runs made with other
    versions.

    Records that do not exist or have no versions are left out.  Records are searched as
    text, which is faster than parsing them.
    """
    differing = cache(lambda written: _differing(written, installed))
    differences = {}
    for record in records:
        with contextlib.suppress(OSError, ValueError):
            libraries = _LIBRARIES.search(record.read_text(encoding="utf-8"))
            if libraries and differing(libraries[1]):
                differences[record] = differing(libraries[1])
    return differences


def _differing(written: str, installed: Mapping[str, str]) -> dict[str, str]:
    """Return the versions in ``written``, JSON, that differ from the installed ones.

    Raises ValueError for a record that is cut short; the job that reads it reports it.
    """
    versions = json.loads(written)
    return {
        name: then for name, then in versions.items() if installed.get(name) != then
    }


def warning(
    differences: Mapping[Path, Mapping[str, str]],
    installed: Mapping[str, str],
    listed: Path,
) -> str:
    """Return a warning that names runs made with other versions; all of them are
    written to ``listed``.
    """
    then: dict[str, set[str]] = {}
    for versions in differences.values():
        for name, version in versions.items():
            then.setdefault(name, set()).add(version)
    changes = []
    for name, versions_then in sorted(then.items()):
        now = installed.get(name, "not installed")
        changes.append(f"{name} {' and '.join(sorted(versions_then))} (now {now})")
    runs = sorted(record.parent.as_posix() for record in differences)
    run_names = ", ".join(runs[:NAMED])
    if len(runs) > NAMED:
        run_names += f" and {len(runs) - NAMED} more"
    with contextlib.suppress(OSError):  # a read-only folder
        write_text(listed, "".join(f"{run}/run.json\n" for run in runs))
    return (
        f"Made with other library versions, and kept: {run_names}: {', '.join(changes)}. "
        f"To make them again, add --forcerun $(cat {listed}) to the command."
    )
