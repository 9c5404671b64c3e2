"""Inputs and params of the rules that compare the texts of data sets."""

from dataclasses import dataclass
from functools import cached_property

from lextables.planning.project import Project
from lextables.planning.rule_values import Params
from lextables.planning.scripts import content_of, package_modules
from lextables.planning.tables import run_folders
from lextables.registry.packages import TASKS
from lextables.registry.paper import Texts


@dataclass(frozen=True)
class Overlaps:
    """Inputs and params of the rules in overlaps.smk."""

    project: Project

    @cached_property
    def texts(self) -> dict[str, Params]:
        """Param: {data set: where its texts are, as the fields of
        `registry.paper.Texts`}, with ``tables``, the tables to read.

        EDGAR has a table for each quarter.
        """
        texts = {}
        for paper in self.project.config.papers:
            for name, entry in self.project.papers[paper].texts.items():
                if name not in self.project.absent:
                    texts[name] = {**entry.model_dump(), "tables": [entry.table]}
        quarters = self.project.config.edgar_quarters
        if quarters:
            # A unit is a filing, with all its contracts.
            filings = Texts(table="filings", unit="accession")
            texts["edgar"] = {**filings.model_dump(), "tables": list(quarters)}
        return texts

    @cached_property
    def relevance(self) -> list[Params]:
        """Param: the retrieval data sets whose texts are those of a spans data set, as
        plain values of `relevance.Compared`.
        """
        spans = self.project.tasks_of_kind("spans")
        compared = []
        for name, task in self.project.tasks_of_kind("retrieval").items():
            if name not in self.texts:
                continue
            # A retrieval data set from the same texts names a split of the spans data
            # set, such as `cuad/train`.
            labels, _, _ = self.texts[name]["without"].partition("/")
            if labels in self.texts and labels in spans:
                values = task.model_dump(mode="json")
                compared.append({"dataset": name, "task": values, "labels": labels})
        return compared

    @property
    def files(self) -> list[str]:
        """Input: the files with the texts, and with relevance and labels."""
        files = []
        for name, texts in self.texts.items():
            tables = [*texts["tables"]]
            if texts["splits"]:
                tables.append(texts["splits"])
            files += self.project.tables(name, *tables)
        for pair in self.relevance:
            files += self.project.tables(pair["dataset"], "queries", "judgements")
            files += self.project.tables(pair["labels"], "questions", "answers")
        return files

    @cached_property
    def benchmarks(self) -> list[Params]:
        """Param: the tables with a headline, as plain values of
        `without_overlap.Benchmark`.
        """
        benchmarks = []
        for name in self.project.config.papers:
            paper = self.project.papers[name]
            for table, entry in paper.tables.items():
                if not entry.headline or entry.of not in self.texts:
                    continue
                benchmark = {
                    "paper": name,
                    "registry": self.project.paper_files[name],
                    "published": self.project.published_values(name),
                    "table": table,
                    "dataset": entry.of,
                    "task": paper.tasks[entry.of].model_dump(mode="json"),
                    "texts": self.texts[entry.of],
                    "rows": self.project.plans[name].rows[table],
                }
                benchmarks.append(benchmark)
        return benchmarks

    def scores_digest(self) -> str:
        """Param: the digest of the scores of the runs that exist."""
        folders: set[str] = set()
        for benchmark in self.benchmarks:
            folders.update(run_folders(benchmark["rows"]))
        results = self.project.results
        return content_of(
            f"{results}/{folder}/scores.parquet" for folder in sorted(folders)
        )

    @cached_property
    def modules(self) -> list[str]:
        """The modules that the rules' scripts import by computed names: those of all
        papers' tables, and the planners of all tasks.
        """
        modules = [f"lextables.tasks.{task}.planner" for task in TASKS]
        for paper in self.project.papers:
            # A paper that is being added may have no tables yet.
            modules += package_modules(paper, optional=("entry", "tables"))
        return modules
