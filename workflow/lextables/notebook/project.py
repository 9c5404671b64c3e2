"""The papers and data sets that a notebook can name, and where their results are."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lextables import ROOT
from lextables.papers import packages
from lextables.papers.registry import Paper
from lextables.pipeline.config import Config
from lextables.pipeline.errors import (
    BadInput,
    did_you_mean,
)

Data = Literal["sample", "release"]


def registry() -> dict[str, Paper]:
    """Return {paper: its entry in the registry}."""
    files = sorted((ROOT / "resources/papers").glob("*.yaml"))
    return packages.load_all({file.stem: str(file) for file in files})


def known(
    name: str,
    names: Collection[str],
    kind: str,
) -> str:
    """Return ``name``; `BadInput` suggests the most similar of ``names`` if it is none."""
    if name in names:
        return name
    choices = f"choose from {', '.join(sorted(names))}"
    do = did_you_mean(str(name), names) or choices
    raise BadInput(f"there is no {kind} {name!r}", where="lextables", do=do)


@dataclass(frozen=True)
class DataSet:
    """A data set of a ``paper``, built from the ``data`` in a working ``folder``."""

    name: str
    paper: str
    data: Data
    folder: Path

    @property
    def path(self) -> Path:
        """The folder of its tables."""
        return self.folder / self._census.parent

    @property
    def _census(self) -> Path:
        config = Config(data=self.data, papers=(self.paper,))
        return Path(config.results, "data", self.name, "census.json")

    @property
    def is_built(self) -> bool:
        """Whether the pipeline has finished it."""
        return (self.folder / self._census).is_file()

    def check_built(self) -> None:
        """Raise `BadInput`, with the command that builds the data set, if it is not built."""
        if self.is_built:
            return
        command = ".venv/bin/snakemake"
        if self.folder != ROOT:
            command = f"{ROOT}/{command} --snakefile {ROOT}/Snakefile"
        command += f" --cores 2 {self._census} --config papers='[{self.paper}]'"
        if self.data == "release":
            command += " data=release"
        what = f"the data set {self.name} is not built"
        do = f"run in this folder: {command}"
        raise BadInput(what, where=str(self.folder), do=do)


def data_set(
    name: str,
    data: Data | None,
    folder: str | Path | None,
) -> DataSet:
    """Return the data set with a name; a paper's name stands for the data set of that name.

    Without ``data`` it is the release's if that is built, and otherwise the sample's.
    ``folder`` is the working folder of Snakemake, by default the current folder if it has
    results, and otherwise the project's.  Raises `BadInput` for an unknown name.
    """
    papers = {}
    for paper, entry in registry().items():
        papers.update(dict.fromkeys((paper, *entry.data, *entry.tasks), paper))
    known(name, papers, "data set")
    known(data or "sample", ("sample", "release"), "data")
    if folder is None:
        folder = Path.cwd() if Path("results").is_dir() else ROOT
    place = Path(folder).expanduser().resolve()
    if data:
        return DataSet(name, papers[name], data, place)
    released = DataSet(name, papers[name], "release", place)
    if released.is_built:
        return released
    return DataSet(name, papers[name], "sample", place)
