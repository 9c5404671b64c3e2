"""The jobs of the answers task."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.actions import MODEL_THREADS, Action, TaskJobs
from lextables.tasks.answers.collection import ANSWERED_FROM, WITHOUT_TEXT
from lextables.tasks.planner import SUBMITTED, Spec
from lextables.tasks.resources import LEAST_MB

MODULES = "answers.actions"
MARK = "mark"  # the experiment of marked paragraphs
VECTORS = "vectors"  # the kind of models that read an encoder's vectors
WITHOUT_WORDS = ("prior", "random")  # kinds of models that answer without a text
# The tables that submitted predictions are checked against.
CHECKED_WITH = (*ANSWERED_FROM, "documents")
# Predictions without and with a model on this machine.
PREDICTING = Action(
    f"{MODULES}.predict",
    tables=ANSWERED_FROM,
    fields=("names",),
    module_pattern="answers.predictors.{}",
    threads=2,
)
PREDICTING_WITH_MODEL = replace(PREDICTING, model=True, threads=MODEL_THREADS)
ENCODING = Action(
    f"{MODULES}.encode",
    tables=ANSWERED_FROM,
    fields=("names",),
    model=True,
    threads=MODEL_THREADS,
)


class AnswerJobs(TaskJobs):
    """The jobs of a data set with documents and questions."""

    ACTIONS: ClassVar = {
        "encode": ENCODING,
        "prior": replace(PREDICTING, tables=WITHOUT_TEXT, threads=1),
        "words": PREDICTING,
        "vectors": PREDICTING_WITH_MODEL,
        "language-model": replace(
            PREDICTING_WITH_MODEL, asks=True, mem_mb=LEAST_MB, minutes=1440
        ),
        "submitted": Action(
            "answers.submitted", tables=CHECKED_WITH, fields=("task", "test", "names")
        ),
        "score": Action(
            f"{MODULES}.score",
            tables=ANSWERED_FROM,
            fields=("names", "smoothing", "folds"),
        ),
    }
    # {action: the module below `answers.predictors` that predicts}.
    PARTS: ClassVar = {
        "prior": "words",
        "words": "words",
        "vectors": "vectors",
        "language-model": "language_model",
    }

    def action(self, run: Run, settings: JsonObject) -> str:
        """The action that makes a run, by the kind of its model.

        Kinds without an action of their own have the action `words`.
        """
        if run.experiment == SUBMITTED:
            return "submitted"
        kind: str = settings["kind"]
        if run.experiment != MARK and kind in WITHOUT_WORDS:
            return "prior"
        return kind if kind in self.ACTIONS else "words"

    def names(self) -> Mapping[str, str]:
        """The data set's names of the tables."""
        names: Mapping[str, str] = self.task.names.model_dump()
        return names

    def part(self, action: str, settings: JsonObject) -> str:
        """The module that predicts with the kind of model; "" for other actions."""
        return self.PARTS.get(action, "")

    def features(self, action: str, run: Run, spec: Spec) -> dict[str, list[str]]:
        """The highlights of people, for marked paragraphs; the vectors of texts."""
        tables = [self.names()["highlights"]] if run.experiment == MARK else []
        features = {"highlights": self.data_files(tables)}
        if action in self.PARTS:
            features["vectors"] = self.vectors(run, spec)
        return features

    def reads_stored_vectors(self, run: Run, spec: Spec) -> bool:
        """Whether a run compares texts by their vectors."""
        return spec.settings.get("kind") == VECTORS
