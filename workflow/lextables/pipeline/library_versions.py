"""Runs that were made with other versions of Python or of a library than those installed now.

A new version reruns nothing by itself.  Each run's `run.json` has the versions that it was made with, so a
user is told of those that differ and can make these runs again (docs/design.md, What reruns).
"""

import contextlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from lextables.pipeline.atomic import write_text

# Of the record itself: those that it holds of other runs, whose weights it read, are indented further.
_LIBRARIES = re.compile(r'^  "libraries": (\{[^}]*\})', re.M)
NAMED = 3  # runs that the warning names


def outdated(records: Iterable[Path], installed: Mapping[str, str]) -> dict[Path, dict[str, str]]:
    """Return {record of a run: {library: its version then}} of those where a version differs.

    A record that is not there, or that says no versions, is left out.  Records are searched as text, since a
    plan should not wait for this.
    """
    differing: dict[str, dict[str, str]] = {}
    found = {}
    for record in records:
        try:
            said = _LIBRARIES.search(record.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if said and said[1] not in differing:
            differing[said[1]] = _differing(said[1], installed)
        if said and differing[said[1]]:
            found[record] = differing[said[1]]
    return found


def _differing(written: str, installed: Mapping[str, str]) -> dict[str, str]:
    try:
        versions = json.loads(written)
    except ValueError:  # a record that was cut short: the job that reads it says so
        return {}
    return {name: then for name, then in versions.items() if installed.get(name) != then}


def warning(found: Mapping[Path, Mapping[str, str]], installed: Mapping[str, str], listed: Path) -> str:
    """Say which runs were made with other versions, and write all of them to the file ``listed``."""
    then: dict[str, set[str]] = {}
    for versions in found.values():
        for name, version in versions.items():
            then.setdefault(name, set()).add(version)
    changes = ", ".join(
        f"{name} {' and '.join(sorted(several))} (now {installed.get(name, 'not installed')})"
        for name, several in sorted(then.items())
    )
    runs = sorted(record.parent.as_posix() for record in found)
    named = ", ".join(runs[:NAMED]) + (f" and {len(runs) - NAMED} more" if len(runs) > NAMED else "")
    with contextlib.suppress(OSError):  # a folder that can only be read
        write_text(listed, "".join(f"{run}/run.json\n" for run in runs))
    return (
        f"Made with other library versions, and kept: {named}: {changes}. "
        f"To make them again, add --forcerun $(cat {listed}) to the command."
    )
