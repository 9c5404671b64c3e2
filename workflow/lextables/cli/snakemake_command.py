"""The `snakemake` command of a run, and its start."""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from lextables import ROOT
from lextables.pipeline.errors import BadInput


def papers() -> list[str]:
    """Return the papers of the registry."""
    return sorted(file.stem for file in (ROOT / "resources/papers").glob("*.yaml"))


def papers_of(targets: Iterable[str]) -> list[str]:
    """Return the papers that targets such as ``acord_table_d3`` name.

    The list is empty if a target names none, or if there are no targets.
    """
    named = set()
    for target in targets:
        paper, _, _ = target.partition("_")
        if paper not in papers():
            return []
        named.add(paper)
    return sorted(named)


def configuration(
    data: str, targets: Iterable[str], mirrors: Iterable[Path], settings: Iterable[str]
) -> dict[str, str]:
    """Return the keys and values after ``--config``.

    ``settings`` are texts ``key=value``; they replace the values of the other
    arguments.  With the released data, models that are not on this machine are left
    out.  The papers are those of the targets.  Raises `BadInput` for a setting without
    ``=``.
    """
    values = {"data": data}
    if data == "release":
        values["models"] = "available"
    named = papers_of(targets)
    if named:
        values["papers"] = listed(named)
    folders = [str(absolute(folder)) for folder in mirrors]
    if folders:
        values["mirror"] = listed(folders)
    for setting in settings:
        key, sign, value = setting.partition("=")
        if not sign or not key:
            what = f"--set {setting} has no value"
            raise BadInput(what, where="command line", do="write --set key=value")
        values[key] = value
    return values


def absolute(path: Path) -> Path:
    """Return an absolute path, with the home folder in place of ``~`` or ``~user``.

    If no user has this name, the name of the file begins with ~.
    """
    with suppress(RuntimeError):
        path = path.expanduser()
    return path.resolve()


def listed(items: Sequence[str]) -> str:
    """Return a list as Snakemake reads it on the command line."""
    quoted = [item if item.isidentifier() else json.dumps(item) for item in items]
    return f"[{','.join(quoted)}]"


def command(
    targets: Iterable[str],
    config: Mapping[str, str],
    options: Iterable[str],
    profile: str = "default",
) -> list[str]:
    """Return the words after ``snakemake``.

    ``profile`` is the name of one in profiles/, or a folder.
    """
    folder = Path(profile) if Path(profile).is_dir() else ROOT / "profiles" / profile
    if not folder.is_dir():
        names = sorted(path.name for path in (ROOT / "profiles").iterdir())
        do = f"choose from {', '.join(names)}, or give a folder"
        raise BadInput(f"there is no profile {profile!r}", where="command line", do=do)
    place = ["--snakefile", str(ROOT / "Snakefile"), "--workflow-profile", str(folder)]
    values = [f"{key}={value}" for key, value in config.items()]
    return [*place, *options, *targets, "--config", *values]


def execute(words: Sequence[str]) -> NoReturn:
    """Print the command of Snakemake, and replace this process by it.

    So its exit code becomes that of `lextables`, and signals reach it.  Raises
    `BadInput` if Snakemake is not installed.
    """
    if find_spec("snakemake") is None:
        what = "the pipeline needs Snakemake, which is not installed"
        do = "run: pip install 'lextables[pipeline]'"
        raise BadInput(what, where=sys.executable, do=do)
    print(shlex.join(["snakemake", *words]), file=sys.stderr, flush=True)
    # Without -P, modules in the current folder would come first.
    python = [sys.executable, "-P", "-m", "snakemake"]
    os.execv(sys.executable, [*python, *words])
