"""Slips on the command line that Snakemake would answer with a traceback, found before it reads a setting.

The profiles call `refuse`, since a profile is the first that Snakemake reads of a project.
"""

import re
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path

import yaml

from lextables import ROOT
from lextables.errors import BadInput

LIBRARIES = ("pyarrow", "pydantic", "orjson")
PLAN = "plan"  # the target
SETTING = re.compile(r"[A-Za-z_][\w-]*=")


def refuse(arguments: Namespace, program: str = "") -> None:
    """End the process with one sentence where what Snakemake was told (its parsed ``arguments``) is a slip.

    ``program`` is what a profile's jobs are started with.
    """
    try:
        check_libraries()
        check_once(sys.argv)
        check_settings(arguments.config or ())
        check_files([ROOT / "config.yaml", *(arguments.configfile or ())])
        check_profile(arguments, program)
        if str(arguments.cores) == "0":
            raise BadInput("with no core no job ever starts", where="--cores 0", do="say --cores 1 or more")
        if program and not (arguments.dryrun or PLAN in arguments.targets) and not shutil.which(program):
            what = f"there is no {program} here, so this is no machine of such a cluster"
            raise BadInput(what, where="profile", do="start where there is one, or leave the profile out")
    except BadInput as fault:
        sys.exit(str(fault))


def snakemake_path() -> str:
    """Return how to start this Snakemake: `.venv/bin/snakemake` in a folder that `make run` set up.

    An environment that lies outside of the working folder is taken to be active: `snakemake`.
    """
    program, installed = Path(sys.executable).with_name("snakemake"), Path(".venv/bin/snakemake")
    if program.exists() and installed.exists() and installed.samefile(program):  # `.venv` may be a link
        return installed.as_posix()
    return program.relative_to(Path.cwd()).as_posix() if program.is_relative_to(Path.cwd()) else program.name


def plans(words: Sequence[str]) -> bool:
    """Whether a command line asks for a plan, which is a dry run (the profiles make it one)."""
    from snakemake.cli import get_argument_parser

    return PLAN in get_argument_parser().parse_known_args(words)[0].targets


def check_libraries() -> None:
    """Raise `BadInput` where the Snakemake of another Python was started than the project installs."""
    if missing := [name for name in LIBRARIES if not find_spec(name)]:
        what = f"this Python ({sys.executable}) has no {missing[0]}"
        raise BadInput(what, do="say .venv/bin/snakemake, which make run installs")


def check_profile(arguments: Namespace, program: str) -> None:
    """Raise `BadInput` where a profile that starts jobs by a ``program`` is given by the wrong option."""
    if program and arguments.profile and not arguments.workflow_profile:
        what = "beside it Snakemake reads profiles/default, whose limit of one GPU would hold"
        given = " ".join(arguments.profile)
        raise BadInput(what, where=f"--profile {given}", do=f"say --workflow-profile {given}")


def check_once(words: Sequence[str]) -> None:
    """Raise `BadInput` where --config stands twice: Snakemake would forget what the first one said."""
    options = words[: words.index("--")] if "--" in words else words
    if sum(word in ("--config", "-C") or word.startswith("--config=") for word in options) > 1:
        what = "it stands twice, and only the last one would count"
        raise BadInput(what, where="--config", do="put all keys after one --config")


def check_settings(words: Sequence[str]) -> None:
    """Raise `BadInput` for the first of the ``words`` after --config that is no ``key=value``."""
    for number, word in enumerate(words):
        if SETTING.match(word):
            continue
        before, after = "".join(words[:number]), "".join(words[number + 1 :])
        if after.startswith("="):
            what = f"blanks stand around the = of {word!r}"
            raise BadInput(what, where="--config", do="write key=value without any")
        if sum(map(before.count, "[{")) > sum(map(before.count, "]}")):
            what = f"the shell cut a value apart at {word!r}"
            raise BadInput(what, where="--config", do="put quotes around it, as in seeds='[0, 1]'")
        what = f"{word!r} is no key=value"
        raise BadInput(what, where="--config", do="put targets before --config, or after a -- of their own")


def check_files(files: Iterable[Path]) -> None:
    """Raise `BadInput` for a file after --configfile that is not there or does not hold keys with values."""
    for file in files:
        try:
            held = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
        except OSError as error:
            what = f"it cannot be read ({error.strerror})"
            raise BadInput(what, where=f"--configfile {file}", do="name a file that is there") from None
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            mark = getattr(error, "problem_mark", None)
            where = f"{file}, line {mark.line + 1}" if mark else str(file)
            do = "mend it there: brackets in pairs, and blanks in place of tabs"
            raise BadInput("this is no YAML", where=where, do=do) from None
        if not isinstance(held, dict):
            raise BadInput("it holds no keys", where=str(file), do="write key: value, as config.yaml does")
