"""The jobs of the answers task."""

from dataclasses import dataclass
from functools import cached_property

from lextables.planning.rule_values import Files, InputFunction, Params, Wildcards
from lextables.planning.runs import Runs
from lextables.planning.scripts import any_of

# The fields of the registry's task that scores depend on.
SCORED_BY = {"names", "smoothing", "folds"}
MARK = "mark"  # the experiment of marked paragraphs


def predictor_module(name: str) -> str:
    """Return the name of the module of a kind of models."""
    return f"lextables.tasks.answers.predictors.{name}"


@dataclass(frozen=True)
class AnswerJobs:
    """Inputs and params of the rules of answers."""

    runs: Runs

    @cached_property
    def tasks(self) -> Params:
        """{data set: its task}."""
        return self.runs.project.tasks_of_kind("answers")

    def names(self, wildcards: Wildcards) -> dict[str, str]:
        """Param: the data set's names of the tables and the column that the task reads."""
        return self.tasks[wildcards.dataset].names.model_dump()

    def scored_task(self, wildcards: Wildcards) -> Params:
        """Param: the task for scoring."""
        task = self.tasks[wildcards.dataset]
        return task.model_dump(mode="json", include=SCORED_BY)

    def tables(self, *tables: str) -> InputFunction:
        """Input function: these tables of the task."""

        def files(wildcards: Wildcards) -> Files:
            names = self.names(wildcards)
            of_data_set = [names[table] for table in tables]
            return self.runs.project.tables(wildcards.dataset, *of_data_set)

        return files

    def scored_highlights(self, wildcards: Wildcards) -> Files:
        """Input: the human highlights, for a run that marks paragraphs; empty for others."""
        if wildcards.experiment != MARK:
            return []
        return self.tables("highlights")(wildcards)

    def models(self, experiment: str, *kinds: str) -> str:
        """Return the pattern of the models of these kinds in an experiment."""
        models = set()
        for run, spec in self.runs.project.specs.items():
            if run.experiment != experiment or run.data_set not in self.tasks:
                continue
            if spec.settings["kind"] in kinds:
                models.add(run.model)
        return any_of(models)
