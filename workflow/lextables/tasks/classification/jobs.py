"""The jobs of classification: tokens or vectors of texts, and the actions on them."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.actions import MODEL_THREADS, Action, TaskJobs
from lextables.tasks.planner import Spec
from lextables.tasks.resources import LEAST_MB

MODULES = "classification.actions"
# Tables that actions read.
EXAMPLES = ("examples", "heads")
TEXTS = (*EXAMPLES, "texts")
LINEAR_THREADS = 2


def _training(*splits: str) -> Action:
    """The fine-tuning of classifiers on the first of ``splits`` (fields of the task);
    the second has the examples that this job or a later one predicts.
    """
    return Action(
        f"{MODULES}.train",
        tables=EXAMPLES,
        fields=splits,
        census=True,
        model=True,
        threads=MODEL_THREADS,
    )


class ClassificationJobs(TaskJobs):
    """The jobs of a data set with examples and heads.

    Fields of the task such as ``final`` have the names of splits.
    """

    # Encoders read long texts in pieces; this setting is the words of a piece.
    VECTOR_SIZE = "piece"
    ACTIONS: ClassVar = {
        # Features, which do not depend on a run.
        "tokens": Action(f"{MODULES}.tokens", tables=("examples", "texts")),
        "encode": Action(
            f"{MODULES}.encode",
            tables=("examples", "texts"),
            model=True,
            threads=MODEL_THREADS,
        ),
        # The other actions make runs and their scores.
        "search": _training("training", "validation"),
        "single-task": _training("final", "test"),
        "train": _training("final", "test"),
        "choose": Action(f"{MODULES}.choose", tables=EXAMPLES, fields=("validation",)),
        "train_linear": Action(
            f"{MODULES}.train_linear",
            tables=TEXTS,
            fields=("final",),
            mem_mb=LEAST_MB,
            threads=LINEAR_THREADS,
        ),
        "predict": Action(
            f"{MODULES}.predict",
            tables=EXAMPLES,
            fields=("test",),
            model=True,
            threads=MODEL_THREADS,
        ),
        "predict_linear": Action(
            f"{MODULES}.predict_linear", tables=TEXTS, fields=("test",), mem_mb=LEAST_MB
        ),
        "ask": Action(
            f"{MODULES}.ask",
            tables=TEXTS,
            fields=("test",),
            model=True,
            asks=True,
            mem_mb=LEAST_MB,
            minutes=720,
            threads=MODEL_THREADS,
        ),
        "submitted": Action(
            "classification.submitted",
            tables=EXAMPLES,
            fields=(
                "task",
                "test",
                "names",
                "evaluator",
                "loss",
                "multi_label",
                "heads",
                "views",
            ),
        ),
        "score": Action(
            f"{MODULES}.score",
            tables=EXAMPLES,
            fields=(
                "test",
                "evaluator",
                "metrics",
                "unit",
                "multi_label",
                "groups",
                "views",
            ),
            census=True,
        ),
    }

    def names(self) -> Mapping[str, str]:
        """The data set's names of heads and texts."""
        names: Mapping[str, str] = self.task.names.model_dump()
        return names

    def features(self, action: str, run: Run, spec: Spec) -> dict[str, list[str]]:
        """The files of tokens (one for each maximum length), of vectors, or of the
        authors' settings.
        """
        settings = spec.settings
        if action in ("search", "single-task", "train", "predict"):
            return {"tokens": self._tokens(settings)}
        if action in ("train_linear", "predict_linear"):
            return {"vectors": self.vectors(run, spec)}
        if action == "choose":
            published = settings["published"]
            names = ["published_settings"] if published else []
            return {"published": self.data_files(names)}
        return {}

    def encoded(self, readers: Mapping[Run, Spec], size: int) -> JsonObject:
        """The views of the readers, and the words of a piece."""
        every = readings(spec.settings for spec in readers.values())
        return {"views": each_view(every), "piece": size}

    def _tokens(self, settings: JsonObject) -> list[str]:
        """The files of tokens that a run reads, one for each maximum length."""
        lengths = {reading["max_length"] for reading in readings([settings])}
        folder = f"{self.folder}/{self.name}/{settings['tokenizer']['model']}"
        return [f"{folder}/{length}/tokens.parquet" for length in sorted(lengths)]


def readings(runs: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the readings of runs, given their settings; a run without views is a
    single reading.
    """
    every: list[JsonObject] = []
    for settings in runs:
        every += settings.get("readings", [settings])
    return every


def each_view(readings: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the different views of readings, sorted by their columns."""
    views = [reading["view"] for reading in readings if reading.get("view")]
    distinct = {(view["text"], view["pair"] or ""): view for view in views}
    return [distinct[columns] for columns in sorted(distinct)]
