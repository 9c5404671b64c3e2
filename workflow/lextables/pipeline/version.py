"""Which lextables made a file: its version, and the commit that it was checked out at.

Both are written into records and never into a rule's params: a commit reruns nothing.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

from lextables import ROOT, __version__

RELEASED = "2026-11-23"  # the day of this version, as CITATION.cff has it


def made_by() -> dict[str, Any]:
    """Return the ``version``, the git ``commit``, and whether tracked files were ``modified`` since.

    ``commit`` and ``modified`` are None where the project is no git checkout of its own, such as an
    unpacked archive, or where git is not installed.
    """
    # The first line is where the checkout begins: an archive may lie inside the checkout of something else.
    top, _, commit = _git("rev-parse", "--show-toplevel", "HEAD").partition("\n")
    if not commit or not ROOT.samefile(top):
        return {"version": __version__, "commit": None, "modified": None}
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"version": __version__, "commit": commit, "modified": bool(changes)}


def words(record: dict[str, Any]) -> str:
    """Put what `made_by` returns into words: ``0.1.0 (commit 1a2b3c4d5e, modified)``."""
    if not record["commit"]:
        return str(record["version"])
    return f"{record['version']} (commit {record['commit'][:10]}{', modified' if record['modified'] else ''})"


def day() -> str:
    """Return the day of the commit that the project is checked out at; empty where `made_by` knows none."""
    return _git("show", "--no-patch", "--format=%cs", "HEAD") if made_by()["commit"] else ""


def _git(*arguments: str) -> str:
    """Return what git prints of the project; nothing where there is no git or it fails."""
    # Without locks: jobs that run at the same time read the same checkout.
    command = ["git", "--no-optional-locks", "-C", str(ROOT), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def snakemake_path() -> str:
    """Return how to start this Snakemake: `.venv/bin/snakemake` in a folder that `make run` set up.

    An environment outside of the working folder is taken to be active: `snakemake`.
    """
    program, installed = Path(sys.executable).with_name("snakemake"), Path(".venv/bin/snakemake")
    if program.exists() and installed.exists() and installed.samefile(program):  # `.venv` may be a link
        return installed.as_posix()
    return program.relative_to(Path.cwd()).as_posix() if program.is_relative_to(Path.cwd()) else program.name
