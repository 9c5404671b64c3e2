"""Params that make a rule rerun when its code, or content that it reads, has changed.

Params that Snakemake compares are short.  A long param is a function of the input or
output, which Snakemake does not compare, and another param has its digest.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any

import lextables
from lextables import ROOT
from lextables.pipeline.atomic import write_text
from lextables.pipeline.content import sha256_of
from lextables.pipeline.files import read_record
from lextables.pipeline.fingerprint import fingerprint
from lextables.planning.rule_values import Wildcards
from lextables.registry import modules

DIGITS = 16  # hexadecimal digits of a digest
SCRIPTS = ROOT / "workflow/scripts"
PACKAGE = Path(lextables.__file__).parent
# A digest, and {script and modules, joined by spaces: their fingerprint}.
Fingerprints = tuple[str, dict[str, str]]
# Fingerprints for the next run and for jobs, which need not parse the modules.  The
# digest is that of the state of the code (`state_of_code`) and of the fingerprints, so
# that fingerprints of other code are not used.
STORED = Path(".snakemake/lextables_fingerprints.json")


def code(script: str, *computed: str) -> Callable[[Wildcards], str]:
    """Return a param: the fingerprint of a rule's code.

    It changes when the script changes, or a module that it imports.  ``computed`` are
    the modules that the script imports by a computed name.
    """

    # A function, so that only the scripts of planned jobs are read.
    def of_script(wildcards: Wildcards) -> str:
        return fingerprint_of(script, *computed)

    return of_script


@cache
def fingerprint_of(script: str, *computed: str) -> str:
    """Return the fingerprint of a script (see `code`)."""
    state, fingerprints = stored_fingerprints()  # the same dictionary in each call
    names = " ".join([script, *computed])
    if names not in fingerprints:
        path = SCRIPTS / script
        fingerprints[names] = fingerprint(str(path), *computed)
        record = [digest_of([state, fingerprints]), fingerprints]
        # Not if the code has changed since the state was read.
        if state and state == state_of_code():
            # In a read-only folder each process computes them.
            with suppress(OSError):
                write_text(STORED, json.dumps(record))
    return fingerprints[names]


@cache
def stored_fingerprints() -> Fingerprints:
    """Return the state of the code, and the fingerprints stored for exactly this
    state.
    """
    state = state_of_code()
    digest, fingerprints = read_record(STORED, Fingerprints) or ("", {})
    if digest != digest_of([state, fingerprints]):
        return state, {}
    return state, fingerprints


def state_of_code() -> str:
    """Return the digest of all names and files of the code; empty if one is
    unreadable.
    """
    names: list[str] = []
    paths: list[Path] = []
    for folder in (PACKAGE, SCRIPTS):
        # `Path.glob` does not follow links to folders.
        files = glob("**", root_dir=folder, recursive=True, include_hidden=True)  # noqa: PTH207
        for name in sorted(files):
            if "__pycache__" not in name:
                names.append(name)
                paths.append(folder / name)
    with suppress(OSError):
        return digest_of([names, content_of(paths)])
    return ""


def package_modules(
    package: str, *names: str, optional: Iterable[str] = ()
) -> list[str]:
    """Return the dotted names of these modules of a paper package.

    ``optional`` modules that it lacks are left out.  Raises `BadInput` if it lacks
    another one.
    """
    for name in names:
        modules.check(package, name)
    existing = [name for name in optional if modules.has(package, name)]
    place = f"lextables.{modules.place(package)}"
    return [f"{place}.{name}" for name in (*names, *existing)]


def digest_of(value: Any) -> str:
    """Return the first digits of the digest of a plain value."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def content_of(paths: Iterable[str | Path]) -> str:
    """Return `digest_of` the content of files, whatever their modification times.

    Snakemake reports missing files, as for any input.
    """
    digests = []
    for path in map(Path, paths):
        if not path.is_file():
            digests.append("")
            continue
        state = path.stat()
        digests.append(_digest_of_file(path, state.st_mtime_ns, state.st_size))
    return digest_of(digests)


@cache
def _digest_of_file(path: Path, modified: int, size: int) -> str:
    """Return the digest of a file, which is read again when it was modified."""
    return sha256_of(path)


def any_of(names: Iterable[str]) -> str:
    """Return the pattern of a wildcard: one of these names; without names it never
    matches.
    """
    return "|".join(map(re.escape, sorted(names))) or "(?!)"
