"""The jobs that check submitted predictions."""

from dataclasses import dataclass

from lextables.planning.project import Project
from lextables.planning.rule_values import Files, Params, Values, Wildcards
from lextables.planning.scripts import fingerprint_of
from lextables.tasks.answers.collection import ANSWERED_FROM
from lextables.tasks.retrieval.collection import files

# The fields of a task that the check depends on.
CHECKED_FIELDS = {
    "task",
    "names",
    "test",
    "evaluator",
    "n_best",
    "linear",
    "loss",
    "multi_label",
    "heads",
}


@dataclass(frozen=True)
class SubmittedJobs:
    """Inputs and params of the rule of submitted predictions."""

    project: Project

    def task(self, wildcards: Wildcards) -> Params:
        """Param: the task for the check."""
        task = self.project.tasks[wildcards.dataset]
        return task.model_dump(mode="json", include=CHECKED_FIELDS)

    def tables(self, wildcards: Wildcards) -> Files:
        """Input: the tables that predictions are checked against."""
        names = tables_of(self.task(wildcards))
        return self.project.tables(wildcards.dataset, *names)

    def code(self, wildcards: Wildcards) -> str:
        """Param: the fingerprint of the check, which has a module for each kind of task."""
        kind = self.project.tasks[wildcards.dataset].task
        return fingerprint_of("submitted.py", f"lextables.tasks.{kind}.submitted")


def tables_of(task: Values) -> list[str]:
    """Return the tables of a data set that predictions for its ``task`` are checked against."""
    if task["task"] == "retrieval":
        return files(task)
    if task["task"] == "spans":
        return ["contracts", "questions"]
    if task["task"] == "classification":
        return ["examples", task["names"]["heads"]]
    return [task["names"][table] for table in ANSWERED_FROM]
