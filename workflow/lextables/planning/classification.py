"""Inputs and params of the rules of classification."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lextables.planning.rule_values import (
    Files,
    InputFunction,
    Params,
    Values,
    Wildcards,
)
from lextables.planning.runs import Runs
from lextables.tasks.classification.plan import ClassificationTask


@dataclass(frozen=True)
class Classification:
    """The data sets of the task and their runs, by the wildcards of a rule.

    ``tokens`` is the pattern of the files of tokens, with the wildcards ``dataset``,
    ``model`` and ``length``.
    """

    runs: Runs
    tokens: str

    @property
    def tasks(self) -> Mapping[str, ClassificationTask]:
        """{data set: its task}."""
        return self.runs.project.tasks_of_kind("classification")

    def tables(self, *tables: str) -> InputFunction:
        """Input function: these tables, where heads and texts have the data set's names."""

        def files(wildcards: Wildcards) -> Files:
            names = self.tasks[wildcards.dataset].names.model_dump()
            of_data_set = [names.get(table, table) for table in tables]
            return self.runs.project.tables(wildcards.dataset, *of_data_set)

        return files

    def published_settings(self, wildcards: Wildcards) -> Files:
        """Input: the authors' settings; empty for a choice by a search."""
        if not self.runs.settings(wildcards, seed=0)["published"]:
            return []
        return self.runs.project.tables(wildcards.dataset, "published_settings")

    def splits(self, *parts: str) -> Callable[[Wildcards], list[list[str]]]:
        """Param function: the splits of these parts of a task.

        The parts are `training`, `validation`, `final` and `test`.
        """

        def splits_of_parts(wildcards: Wildcards) -> list[list[str]]:
            task = self.tasks[wildcards.dataset]
            return [list(getattr(task, part)) for part in parts]

        return splits_of_parts

    def scores(self, wildcards: Wildcards) -> Params:
        """Param: `settings.ScoreSettings`."""
        names = {"evaluator", "metrics", "unit", "multi_label", "groups", "views"}
        return self.tasks[wildcards.dataset].model_dump(mode="json", include=names)

    # Tokens.

    def tokens_of_run(self, wildcards: Wildcards) -> Files:
        """Input: the tokens that a run reads, a file for each maximum length, ascending."""
        settings = self.runs.spec(wildcards).settings
        lengths = {reading["max_length"] for reading in readings([settings])}
        parts = {"dataset": wildcards.dataset, "model": settings["tokenizer"]["model"]}
        return [
            self.tokens.format(**parts, length=length) for length in sorted(lengths)
        ]

    def _tokenised_for(self, wildcards: Wildcards) -> list[Values]:
        """Return the settings of the runs that read tokens of a model's tokenizer."""
        found = []
        for settings in self._settings(wildcards.dataset):
            if settings.get("tokenizer", {}).get("model") == wildcards.model:
                found.append(settings)
        return found

    def tokenizer(self, wildcards: Wildcards) -> Params:
        """Param: the settings of the weights that the tokenizer belongs to."""
        settings = self._tokenised_for(wildcards)[0]
        return self.runs.project.identified(settings["tokenizer"])

    def tokenised_views(self, wildcards: Wildcards) -> list[Values]:
        """Param: the views under which texts of this length are read, each once.

        Empty for a task without views.
        """
        found = readings(self._tokenised_for(wildcards))
        length = int(wildcards.length)
        return each_view([each for each in found if each["max_length"] == length])

    # Vectors of linear models.

    def _encoded_for(self, wildcards: Wildcards) -> list[Values]:
        """Return the settings of the linear models that read an encoder's vectors."""
        found = []
        for settings in self._settings(wildcards.dataset):
            linear = settings.get("kind") == "linear"
            if linear and settings.get("model") == wildcards.encoder:
                found.append(settings)
        return found

    def encoder(self, wildcards: Wildcards) -> Params:
        """Param: the settings of the encoder, and its maximum length."""
        project = self.runs.project
        settings = self._encoded_for(wildcards)[0]
        chosen = {}
        for name in ("model", "weights", "revision", "found"):
            chosen[name] = settings[name]
        weights = project.identified(chosen)
        registered = project.context.models[wildcards.encoder]
        return {**weights, "max_length": registered.max_length}

    def encoded_views(self, wildcards: Wildcards) -> list[Values]:
        """Param: the views under which linear models read vectors, each once."""
        return each_view(readings(self._encoded_for(wildcards)))

    def _settings(self, dataset: str) -> list[Values]:
        specs = self.runs.project.specs.items()
        return [spec.settings for run, spec in specs if run.data_set == dataset]


def readings(runs: Iterable[Values]) -> list[Values]:
    """Return the readings of settings; a run without views is a single reading."""
    found: list[Values] = []
    for settings in runs:
        found += settings.get("readings", [settings])
    return found


def each_view(readings: Iterable[Values]) -> list[Values]:
    """Return the different views of readings, sorted by their columns."""
    views = [reading["view"] for reading in readings if reading.get("view")]
    distinct = {(view["text"], view["pair"] or ""): view for view in views}
    return [distinct[columns] for columns in sorted(distinct)]
