"""Params of the rules that read data sets from published files."""

from dataclasses import dataclass
from pathlib import Path

from lextables.planning.project import Project
from lextables.planning.rule_values import Params
from lextables.planning.scripts import content_of, package_modules
from lextables.registry import modules
from lextables.registry.paper import DataSet, Paper


@dataclass(frozen=True)
class DataJob:
    """What the rule of one data set needs: its files, tables, code and params.

    ``entry`` is that of the data set in the registry's file of its ``paper``.
    ``package`` has its reader and schema.  ``files`` are {name in the entry: its
    published files}, as `<source>/<file>`; they are in ``folder``.
    """

    name: str
    entry: DataSet
    paper: Paper
    package: str
    files: dict[str, list[str]]
    folder: str
    facts_folder: Path

    @property
    def published_files(self) -> list[str]:
        """The paths of all files, in the order of their names in the entry."""
        paths = []
        for files in self.files.values():
            paths += [f"{self.folder}/{file}" for file in files]
        return paths

    @property
    def tables(self) -> list[str]:
        """The names of its tables; `BadInput` if the package has no schema."""
        schema = modules.module(self.package, "schema")
        return [table.name for table in schema.TABLES[self.name]]

    @property
    def modules(self) -> list[str]:
        """The modules that the script imports by computed names."""
        return package_modules(self.package, "raw", "schema")

    @property
    def params(self) -> Params:
        """The params of scripts/data.py."""
        facts = dict(self.entry.facts)
        paths = [self.facts_folder / file for file in facts.values()]
        census = {name: dict(tables) for name, tables in self.entry.census.items()}
        return {
            "package": modules.place(self.package),
            "name": self.name,
            # How many inputs have each name.
            "files": {name: len(files) for name, files in self.files.items()},
            "facts": facts,
            # Facts are no inputs, so that only a change of their content reruns the
            # job.
            "facts_digest": content_of(paths),
            "given": self.paper.model_dump(mode="json", include={*self.entry.given}),
            "census": census,
        }


def data_jobs(project: Project, mirrors: list[Path]) -> list[DataJob]:
    """Return what the rules of the planned papers' data sets need, one for each.

    An auxiliary data set that is not available has no rule.
    """
    jobs = []
    for paper_name in project.config.papers:
        paper = project.papers[paper_name]
        for name, entry in paper.data.items():
            if name in project.absent:
                continue
            job = DataJob(
                name=name,
                entry=entry,
                paper=paper,
                package=entry.package(paper_name),
                files=entry.named(mirrors),
                folder=f"{project.results}/sources",
                facts_folder=project.path / "resources/facts",
            )
            jobs.append(job)
    return jobs
