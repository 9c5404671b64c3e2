"""The jobs of retrieval.

A job makes all runs of one system that is not trained here: every form of the queries, and
every way to read the documents.  Systems of one kind whose runs have the same conditions
share a rule.  A run of a trained system has a job of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lextables.pipeline.run import Run
from lextables.planning.job_resources import JobResources, per_attempt
from lextables.planning.rule_values import Files, InputFunction, Params, Wildcards
from lextables.planning.runs import Runs
from lextables.planning.scripts import fingerprint_of
from lextables.tasks.plan import ASK, SEARCH, Spec
from lextables.tasks.resources import LEAST_MB, Work
from lextables.tasks.retrieval.collection import files

RETRIEVE, RERANK = "retrieve", "rerank"  # experiments
# {(experiment, kind of system): the step in the name of its rule}
STEPS: Mapping[tuple[str, str], str] = {
    (RETRIEVE, "bm25"): "retrieve_lexical",
    (RETRIEVE, "okapi"): "retrieve_okapi",
    (RETRIEVE, "bi-encoder"): "retrieve_dense",
    (RETRIEVE, "embedding-api"): "retrieve_api",
    (RETRIEVE, "linear"): "retrieve_linear",
    (RERANK, "cross-encoder"): "rerank",
    (RERANK, "bi-encoder"): "rerank_dense",
    (RERANK, "okapi"): "rerank_okapi",
    (ASK, "language-model"): "ask",
}
WITHOUT_MODEL = ("bm25", "okapi", "embedding-api")  # kinds that need no GPU
MINUTES_WITHOUT_MODEL = 120
LEAST_MINUTES_OF_ASKING = 720
# The fields of the registry's task that hits depend on, and those that scores depend on.
RANKED_BY = frozenset(
    {"names", "forms", "pool", "training", "validation", "test", "top_gain"}
)
SCORED_BY = RANKED_BY | {"metrics", "groups", "choose_by"}

System = tuple[str, str, str]  # experiment, data set, model


@dataclass(frozen=True)
class RankingRule:
    """A rule for systems of one ``kind``: their ``models``, and the ``conditions`` of their runs."""

    name: str
    dataset: str
    experiment: str
    kind: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]


def module_name(kind: str) -> str:
    """Return the last part of the name of a module for a ``kind`` of system."""
    return kind.replace("-", "_")


def ranker_module(kind: str) -> str:
    """Return the name of the module that ranks with a ``kind`` of system."""
    return f"lextables.tasks.retrieval.rankers.{module_name(kind)}"


def conditions_by_system(runs: Iterable[Run]) -> dict[System, list[str]]:
    """Return the conditions of the runs of each system, in the order of the plan."""
    conditions: dict[System, list[str]] = {}
    for run in runs:
        system = (run.experiment, run.data_set, run.model)
        conditions.setdefault(system, []).append(run.condition)
    return conditions


def ranking_rules(
    specs: Mapping[Run, Spec], datasets: Iterable[str]
) -> list[RankingRule]:
    """Return the rules of the systems of these data sets that are not trained here."""
    conditions = conditions_by_system(specs)
    kinds = {}
    for run, spec in specs.items():
        kinds[run.experiment, run.data_set, run.model] = spec.settings.get("kind")
    rules = []
    for dataset in datasets:
        for (experiment, kind), step in STEPS.items():
            models: dict[tuple[str, ...], list[str]] = {}
            for system, its_kind in kinds.items():
                if system[:2] == (experiment, dataset) and its_kind == kind:
                    models.setdefault(tuple(conditions[system]), []).append(system[2])
            for number, (of_rule, names) in enumerate(sorted(models.items())):
                name = f"{dataset}_{step}"
                if number:
                    name += f"_{number}"
                rule = RankingRule(
                    name, dataset, experiment, kind, tuple(sorted(names)), of_rule
                )
                rules.append(rule)
    return rules


@dataclass(frozen=True)
class Rankings:
    """Inputs, params and resources of the rules of retrieval."""

    runs: Runs
    resources: JobResources

    @cached_property
    def tasks(self) -> Params:
        """{data set: its task}."""
        return self.runs.project.tasks_of_kind("retrieval")

    @cached_property
    def conditions(self) -> dict[System, list[str]]:
        """The conditions of the runs of each system."""
        return conditions_by_system(self.runs.project.specs)

    def rules(self) -> list[RankingRule]:
        """Return the rules of the systems that are not trained here."""
        return ranking_rules(self.runs.project.specs, self.tasks)

    def files(self, name: str, conditions: Iterable[str]) -> list[str]:
        """Output: the files of this name of the runs of each condition, as patterns."""
        folders = [self.runs.folder(condition=each, seed=0) for each in conditions]
        return [f"{folder}/{name}" for folder in folders]

    def tables(self, wildcards: Wildcards) -> Files:
        """Input: the tables that the task reads."""
        names = files(self._task(wildcards, {"names"}))
        return self.runs.project.tables(wildcards.dataset, *names)

    def ranked_task(self, wildcards: Wildcards) -> Params:
        """Param: the task for ranking and training, without the metrics."""
        return self._task(wildcards, RANKED_BY)

    def scored_task(self, wildcards: Wildcards) -> Params:
        """Param: the task for choosing and scoring."""
        return self._task(wildcards, SCORED_BY)

    def _task(self, wildcards: Wildcards, fields: Iterable[str]) -> Params:
        task = self.tasks[wildcards.dataset]
        return task.model_dump(mode="json", include=set(fields))

    def conditions_of(self, wildcards: Wildcards) -> Files:
        """Return the conditions of the runs that a job makes."""
        if hasattr(wildcards, "condition"):
            return [wildcards.condition]
        system = (wildcards.experiment, wildcards.dataset, wildcards.model)
        return self.conditions[system]

    def settings(self, wildcards: Wildcards) -> dict[str, Params]:
        """Param: {condition: settings} of the runs that a job makes."""
        names = self.conditions_of(wildcards)
        return {name: self.runs.settings(wildcards, condition=name) for name in names}

    def hits(self, wildcards: Wildcards) -> Files:
        """Input: the predictions that a job reads, by condition; empty for a retriever."""
        hits = []
        for name in self.conditions_of(wildcards):
            hits += self.runs.needed_predictions(wildcards, condition=name)
        return hits

    def tuning(self, wildcards: Wildcards) -> str:
        """Param: the kind of system that a run fine-tunes, as in the name of its module."""
        return module_name(self.runs.settings(wildcards)["kind"])

    def tuning_code(self, wildcards: Wildcards) -> str:
        """Param: the fingerprint of a training, which has a module for each kind of system."""
        module = f"lextables.tasks.retrieval.{self.tuning(wildcards)}_tuning"
        return fingerprint_of("retrieval_train.py", module)

    def compared(self, searches: bool) -> InputFunction:
        """Input function: the predictions of the searches that a choice is made from.

        Without ``searches`` the hits that these reorder; empty if they are retrievers.
        """

        def files(wildcards: Wildcards) -> Files:
            needs = self._needs(wildcards, searches)
            return [self.runs.file(run, "predictions.parquet") for run in needs]

        return files

    def rates(self, wildcards: Wildcards) -> list[tuple[int, float]]:
        """Param: the seed and the learning rate of each search."""
        specs = self.runs.project.specs
        searches = self._needs(wildcards, searches=True)
        return [(run.seed, specs[run].settings["learning_rate"]) for run in searches]

    def _needs(self, wildcards: Wildcards, searches: bool) -> list[Run]:
        needs = self.runs.spec(wildcards).needs
        return [run for run in needs if (run.experiment == SEARCH) == searches]

    def queries(self, wildcards: Wildcards) -> Files | None:
        """Param: the queries that are scored; None for all."""
        return self.runs.settings(wildcards).get("queries")

    def work(self, wildcards: Wildcards) -> Work:
        """Return the work of a job."""
        names = self.conditions_of(wildcards)
        runs = [self.runs.run_of(wildcards, condition=name) for name in names]
        return self.resources.sizes.work(runs)

    def resources_of(self, kind: str) -> Params:
        """Return the resources of the jobs of a kind of system."""
        if kind in WITHOUT_MODEL:
            runtime = self.resources.runtime(MINUTES_WITHOUT_MODEL)
            return {"mem_mb": per_attempt(LEAST_MB), "runtime": runtime}
        if kind == "language-model":
            return self.resources.of_asking(LEAST_MINUTES_OF_ASKING, self.work)
        return self.resources.of_model(self.work)

    def threads_of(self, kind: str) -> int:
        """Return the threads of the jobs of a kind of system."""
        return 1 if kind in WITHOUT_MODEL else self.resources.model_threads
