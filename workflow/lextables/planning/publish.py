"""Inputs and params of the rules that make exports."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lextables.models import prompts
from lextables.pipeline.run import Run
from lextables.planning.project import Project
from lextables.planning.rule_values import Files, InputFunction, Params, Wildcards
from lextables.planning.tables import Tables, run_folders
from lextables.tasks.planner import TRAIN

# The fields of a task that the formats of its data set depend on.
EXPORTED_FIELDS = {
    "task",
    "evaluator",
    "names",
    "forms",
    "training",
    "validation",
    "test",
    "pool",
    "views",
    "asking",
}
# Experiments that predict the test split with trained weights.
READING = ("read", "rerank-tuned", "retrieve-tuned")


@dataclass(frozen=True)
class Export:
    """An export: its paper and its data sets."""

    paper: str
    data_sets: tuple[str, ...]


@dataclass(frozen=True)
class Exports:
    """The exports of the papers, by the wildcard ``export`` of their rule."""

    project: Project
    tables: Tables

    @cached_property
    def of_name(self) -> dict[str, Export]:
        """{name: export}: one for each paper, named after it, and one for each data set
        that its registry lists in `publish.apart`.

        Auxiliary data sets, which others published, are left out.
        """
        exports = {}
        for name in self.project.config.papers:
            paper = self.project.papers[name]
            separate = paper.publish.apart
            data_sets = {name, *paper.data, *paper.tasks} - separate.keys()
            for data_set, entry in paper.data.items():
                if entry.auxiliary:
                    data_sets.discard(data_set)
            exports[name] = Export(name, tuple(sorted(data_sets)))
            for data_set in separate:
                exports[data_set] = Export(name, (data_set,))
        return exports

    def export(self, wildcards: Wildcards) -> Export:
        """Return the export that the wildcard names."""
        return self.of_name[wildcards.export]

    def about(self, wildcards: Wildcards) -> Params:
        """Param: the parts of the paper's file that an export shows."""
        export = self.export(wildcards)
        paper = self.project.papers[export.paper]
        tasks = {}
        for name in export.data_sets:
            if name in paper.tasks:
                task: Any = paper.tasks[name]
                fields = task.model_dump(mode="json", include=EXPORTED_FIELDS)
                if task.exported_prompt:
                    name_of_file = f"resources/prompts/{task.exported_prompt}.txt"
                    path = self.project.path / name_of_file
                    fields["prompt"] = prompts.load(path).plain()
                tasks[name] = fields
        shown = {"title", "citation", "publish"}
        return {**paper.model_dump(mode="json", include=shown), "tasks": tasks}

    def source_texts(self, wildcards: Wildcards) -> Params:
        """Param: the registry's texts on the sources of an export's paper."""
        return self.tables.source_texts[self.export(wildcards).paper]

    def census(self, wildcards: Wildcards) -> Files:
        """Input: the census of each data set of an export."""
        names = self.export(wildcards).data_sets
        return [self.project.census(name) for name in names]

    def rows(self, wildcards: Wildcards) -> dict[str, list[str]]:
        """Return {run folder: the rows that it fills}, without submitted
        predictions.
        """
        export = self.export(wildcards)
        plan = self.project.plans[export.paper]
        rows_of: dict[str, set[str]] = {}
        for rows in plan.rows.values():
            for row in rows:
                if row["submitted"]:
                    continue
                for folder in run_folders([row]):
                    # runs/<data set>/… (`Run.folder`)
                    data_set = folder.split("/")[1]
                    if data_set in export.data_sets:
                        rows_of.setdefault(folder, set()).add(row["row"])
        return {folder: sorted(rows_of[folder]) for folder in sorted(rows_of)}

    def of_runs(self, name: str) -> InputFunction:
        """Input function: a file of each run in an export."""

        def files(wildcards: Wildcards) -> Files:
            folders = self.rows(wildcards)
            return [f"{self.project.results}/{folder}/{name}" for folder in folders]

        return files

    def weights(self, wildcards: Wildcards) -> Files:
        """Input: the fine-tuned weights behind the rows of an export, sorted.

        Left out are linear models, which only lextables loads; trainings on a share of
        the examples; and trainings of zero updates, which do not change the weights.
        """
        data_sets = self.export(wildcards).data_sets
        specs = self.project.specs
        shown = self.rows(wildcards)
        # The runs of the rows, and the runs that these need.
        waiting = [run for run in specs if run.folder in shown]
        runs: set[Run] = set()
        while waiting:
            run = waiting.pop()
            if run not in runs:
                runs.add(run)
                waiting += specs[run].needs
        # The trainings whose weights they read.
        folders = set()
        for run in runs:
            if run.data_set in data_sets and run.experiment in READING:
                for training in specs[run].sources:
                    if self._is_exported(training, run):
                        folders.add(f"{self.project.results}/{training.folder}/weights")
        return sorted(folders)

    def _is_exported(self, training: Run, run: Run) -> bool:
        """Whether the weights of a training that a run reads are exported."""
        settings = self.project.specs[training].settings
        if training.experiment != TRAIN or training.data_set != run.data_set:
            return False
        if settings.get("updates") == [0] or settings.get("percent", 100) != 100:
            return False
        return settings.get("kind") != "linear"

    def command(self, wildcards: Wildcards) -> str:
        """Param: the command that makes an export again."""
        config = self.project.config
        paper = self.export(wildcards).paper
        return (
            ".venv/bin/snakemake --cores 4 publish --config "
            f"data={config.data} models={config.models} papers='[{paper}]'"
        )
