"""The papers and data sets that a notebook can name, and where their results are."""

import shlex
import warnings
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lextables import ROOT
from lextables.pipeline.config import Config
from lextables.pipeline.dataset import Census
from lextables.pipeline.entries import mapping
from lextables.pipeline.errors import BadInput, did_you_mean
from lextables.pipeline.files import read_json
from lextables.registry import packages
from lextables.registry.paper import Paper

Data = Literal["sample", "release"]


def registry() -> dict[str, Paper]:
    """Return {paper: its entry in the registry}."""
    files = sorted((ROOT / "resources/papers").glob("*.yaml"))
    return packages.load_all({file.stem: str(file) for file in files})


def check_name(name: str, names: Collection[str], kind: str) -> None:
    """Raise `BadInput`, with the most similar name, if ``names`` has no ``name``."""
    if name in [*names]:
        return
    choices = f"choose from {', '.join(sorted(names))}"
    do = did_you_mean(str(name), names) or choices
    raise BadInput(f"there is no {kind} {name!r}", where="lextables", do=do)


def path_of(argument: str | Path, must_exist: bool = False) -> Path:
    """Return an argument as an absolute path; ``must_exist`` resolves links.

    Raises `BadInput` if it is no path or, with ``must_exist``, if nothing is there.
    """
    try:
        path = Path(argument).expanduser().absolute()
        return path.resolve(strict=True) if must_exist else path
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        what = f"{argument!r} cannot be used as a path ({error})"
        raise BadInput(what, where="lextables", do="give another") from None


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

    @property
    def tables(self) -> list[str]:
        """The names of its tables; raises `BadInput` if its census is damaged."""
        return [*read_json(self.path / "census.json", Census)["data"]]

    def check_built(self) -> None:
        """Raise `BadInput`, with the command that builds the data set, if a file is
        missing.
        """
        files = ["census.json"]
        if self.is_built:
            files = [f"{table}.parquet" for table in self.tables]
        missing = [file for file in files if not (self.path / file).is_file()]
        if not missing:
            return
        command = ["lextables", "run", str(self._census), "--data", self.data]
        for mirror in self._mirrors():
            command += ["--mirror", str(mirror)]
        # The census, which is the target, may exist although a table is missing.
        command += ["--set", f"papers={self.paper}", "--", "--force"]
        what = f"the data set {self.name} is not built: {missing[0]} is missing"
        do = f"run in this folder: {shlex.join(command)}"
        raise BadInput(what, where=str(self.folder), do=do)

    def _mirrors(self) -> list[Path]:
        """The folders with raw files of the last run that made a report here."""
        file = self.folder / "results/config.yaml"
        if self.data == "sample" or not file.is_file():
            return []
        # Relative folders are below the project's root.
        folders = mapping(file).get("mirror", [])
        return [(ROOT / folder).resolve() for folder in folders]


class SampleWarning(UserWarning):
    """Numbers of the sample say nothing about a paper."""


class OtherDataWarning(UserWarning):
    """Scores on data that are not the paper's are not comparable with its values."""


def paper_of() -> dict[str, str]:
    """Return {name: its paper} for the names of papers and of their data sets."""
    papers = {}
    for paper, entry in registry().items():
        papers.update(dict.fromkeys((paper, *entry.data, *entry.tasks), paper))
    return papers


def data_set(name: str, data: Data, folder: str | Path | None) -> DataSet:
    """Return the data set with a name; a paper's name stands for the data set of that
    name.

    ``folder`` is the working folder of Snakemake, by default the current folder, or a
    clone with results if the current folder has none.  Warns if ``data`` is the sample.
    Raises `BadInput` for an unknown name or folder.
    """
    papers = paper_of()
    check_name(name, papers, "data set")
    check_name(data, ("sample", "release"), "data")
    if folder is None:
        use_clone = not Path("results").is_dir() and (ROOT / "results").is_dir()
        folder = ROOT if use_clone else Path.cwd()
    if data == "sample":
        text = f"{name}: the sample's texts are invented; its numbers say nothing about a paper"
        warnings.warn(text, SampleWarning, stacklevel=3)
    return DataSet(name, papers[name], data, path_of(folder, must_exist=True))
