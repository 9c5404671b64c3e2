"""Params that make a rule rerun when its code, or content that it reads, has changed.

Params that Snakemake compares are short.  A long param is a function of the input or
output, which Snakemake does not compare, and another param has its digest.
"""

import hashlib
import json
import re
from collections.abc import (
    Callable,
    Iterable,
)
from functools import cache
from pathlib import Path
from typing import Any

from snakemake.iocontainers import Wildcards

from lextables import ROOT
from lextables.papers import modules
from lextables.pipeline.content import sha256_of
from lextables.pipeline.fingerprint import fingerprint

DIGITS = 16  # hexadecimal digits of a digest


def code(script: str, *computed: str) -> Callable[[Wildcards], str]:
    """Return a param: the fingerprint of a rule's code.

    It changes when the script changes, or a module that it imports.  ``computed`` are the
    modules that the script imports by a computed name.
    """

    # A function, so that only the scripts of planned jobs are read.
    def of_script(wildcards: Wildcards) -> str:
        return fingerprint_of(script, *computed)

    return of_script


@cache
def fingerprint_of(script: str, *computed: str) -> str:
    """Return the fingerprint of a script (see `code`)."""
    return fingerprint(str(ROOT / "workflow/scripts" / script), *computed)


def package_modules(package: str, *names: str) -> list[str]:
    """Return the dotted names of these modules of a paper package, if it has them."""
    place = f"lextables.{modules.place(package)}"
    return [f"{place}.{name}" for name in names if modules.has(package, name)]


def digest_of(value: Any) -> str:
    """Return the first digits of the digest of a plain value."""
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def content_of(paths: Iterable[str | Path]) -> str:
    """Return `digest_of` the content of files, whatever their modification times.

    Snakemake reports missing files, as for any input.
    """
    digests = []
    for path in paths:
        digests.append(sha256_of(path) if Path(path).is_file() else "")
    return digest_of(digests)


def any_of(names: Iterable[str]) -> str:
    """Return the pattern of a wildcard: one of these names; without names it never matches."""
    return "|".join(map(re.escape, sorted(names))) or "(?!)"
