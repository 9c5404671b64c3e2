"""Inputs and params of the rules that make tables and figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lextables.planning import paper_plan
from lextables.planning.project import Project
from lextables.planning.rule_values import Files, InputFunction, Params, Wildcards
from lextables.planning.scripts import content_of, digest_of, package_modules
from lextables.registry.paper import TableEntry
from lextables.sources.entries import registry_texts

Row = Params  # a planned row of a table, as plain values (`planner.Plan.rows`)
KINDS = ("csv", "comparison.csv", "md", "html")
FIGURE_KINDS = (*KINDS, "svg")


@dataclass(frozen=True)
class Tables:
    """The tables of the papers, by the wildcards ``paper`` and ``table`` of their
    rules.
    """

    project: Project

    def names(self, kind: str) -> set[str]:
        """Return the names of all tables of a kind, `table` or `figure`."""
        names = set()
        for paper in self.project.config.papers:
            for name in self.project.papers[paper].tables:
                if name.startswith("figure") == (kind == "figure"):
                    names.add(name)
        return names

    def files_of(self, paper: str, name: str) -> list[str]:
        """Return the files of one table or figure."""
        kinds = FIGURE_KINDS if name.startswith("figure") else KINDS
        folder = f"{self.project.results}/tables/{paper}"
        return [f"{folder}/{name}.{kind}" for kind in kinds]

    def files(self, paper: str) -> list[str]:
        """Return the files of all tables and figures of a paper."""
        files = []
        for name in self.project.papers[paper].tables:
            files += self.files_of(paper, name)
        return files

    def in_report(self, paper: str) -> list[str]:
        """Return the files of the tables and figures that the report shows.

        A run on the sample builds only some tables for it.
        """
        entry = self.project.papers[paper]
        left_out: tuple[str, ...] = ()
        if paper_plan.runs_sample(self.project.config):
            left_out = entry.not_in_sample.tables
        files = []
        for name in entry.tables:
            if name not in left_out:
                files += self.files_of(paper, name)
        return files

    def entry(self, wildcards: Wildcards) -> TableEntry:
        """Return the registry's entry of a table."""
        return self.project.papers[wildcards.paper].tables[wildcards.table]

    def rows(self, wildcards: Wildcards) -> list[Row]:
        """Return the planned rows of a table."""
        return self.project.plans[wildcards.paper].rows.get(wildcards.table, [])

    def published(self, wildcards: Wildcards) -> str:
        """Input: the published values of a paper."""
        return self.project.published_values(wildcards.paper)

    def registry(self, wildcards: Wildcards) -> str:
        """Input: the paper's file in the registry."""
        return self.project.paper_files[wildcards.paper]

    def census(self, wildcards: Wildcards) -> str:
        """Input: the census of a table's data set, by default the paper's own."""
        return self.project.census(self.entry(wildcards).of or wildcards.paper)

    def other_censuses(self, wildcards: Wildcards) -> Files:
        """Input: the census of each other available data set that a table shows."""
        project = self.project
        names = self.entry(wildcards).beside
        return [project.census(name) for name in names if name not in project.absent]

    def training_censuses(self, wildcards: Wildcards) -> Files:
        """Input: the census of each other data set on which models of published rows
        are trained.
        """
        names: set[str] = set()
        for row in self.rows(wildcards):
            if not row["additional"]:
                names.update(row["training_data"])
        return [self.project.census(name) for name in sorted(names)]

    def absent(self, wildcards: Wildcards) -> dict[str, str]:
        """Param: {other data set of a table that is not available: the reason}."""
        absent = self.project.absent
        names = self.entry(wildcards).beside
        return {name: absent[name] for name in names if name in absent}

    def of_runs(self, name: str) -> InputFunction:
        """Input function: a file of each run that a table shows; empty for tables made
        from data only.
        """

        def files(wildcards: Wildcards) -> Files:
            folders = self.project.plans[wildcards.paper].folders(wildcards.table)
            return [f"{self.project.results}/{folder}/{name}" for folder in folders]

        return files

    def readings(self, wildcards: Wildcards) -> Files:
        """Input: human readings of a paper's data set, if there are any."""
        path = self.project.path / f"resources/readings/{wildcards.paper}.csv"
        return [str(path)] if path.exists() else []

    def user_file(self, wildcards: Wildcards) -> Files:
        """Input: the user's file that a table shows, if the configuration names it."""
        key = self.entry(wildcards).file
        file = getattr(self.project.config, key) if key else ""
        return [file] if file else []

    def content(self, wildcards: Wildcards) -> str:
        """Param: the digest of the repository's files and the user's file that a table
        reads.
        """
        files = [
            self.published(wildcards),
            self.registry(wildcards),
            *self.readings(wildcards),
        ]
        digests = [content_of(files)]
        for path in self.user_file(wildcards):
            if Path(path).is_file():
                digests.append(self.project.contents.file(path))
        return digest_of(digests)

    def modules(self, wildcards: Wildcards) -> Files:
        """Return the modules of the paper's tables and of the planners of its tasks."""
        tasks: Iterable[Any] = self.project.papers[wildcards.paper].tasks.values()
        planners = {f"lextables.tasks.{task.task}.planner" for task in tasks}
        paper_modules = package_modules(wildcards.paper, "tables", optional=("entry",))
        return [*paper_modules, *sorted(planners)]

    @property
    def published_values(self) -> dict[str, str]:
        """Param: {paper: the file of its published values}."""
        papers = self.project.config.papers
        return {paper: self.project.published_values(paper) for paper in papers}

    @cached_property
    def source_texts(self) -> dict[str, Params]:
        """{paper: the registry's texts on its sources and on sources of no paper, which
        pages show}.
        """
        sources_of = {name: self._sources(name) for name in self.project.papers}
        registry = self.project.sources
        shared = registry.keys() - set().union(*sources_of.values())
        texts = {}
        for paper, names in sources_of.items():
            texts[paper] = registry_texts(registry, sorted(names | shared))
        return texts

    def _sources(self, name: str) -> set[str]:
        """The sources of a paper: with its name, in its file, or of a file of its data
        sets.
        """
        paper = self.project.papers[name]
        files: list[str] = []
        for data_set in paper.data.values():
            for names in data_set.named([]).values():
                files += names
            files += data_set.instead.values()
        sources = {*paper.sources, *(file.split("/")[0] for file in files)}
        for source in self.project.sources:
            if source == name or source.startswith(f"{name}_"):
                sources.add(source)
        return sources


def run_folders(rows: Iterable[Row]) -> list[str]:
    """Return the sorted folders of the runs of planned rows."""
    folders = set()
    for row in rows:
        for runs in row["runs"].values():
            folders.update(runs)
    return sorted(folders)
