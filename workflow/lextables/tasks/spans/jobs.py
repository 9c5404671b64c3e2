"""The jobs of span extraction: windows of tokens, and the actions on them."""

from collections.abc import Mapping
from typing import ClassVar

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.actions import MODEL_THREADS, Action, TaskJobs
from lextables.tasks.planner import ASK, Spec
from lextables.tasks.resources import LEAST_MB

SHARDS = 8  # files of windows of each part of the data
MODULES = "spans.actions"
CONTRACTS = ("contracts", "questions")
ASKING_MINUTES = 720
# {action: {role of the windows: their part}}.  The model, or in a prediction the
# ranking of windows, learns from the role `train`; the model then reads the role
# `read`.
WINDOWS: Mapping[str, Mapping[str, str]] = {
    "search": {"train": "train", "read": "validation"},
    "train": {"train": "train"},
    "predict": {"train": "train", "read": "test"},
}


def window_files(folder: str, part: str) -> list[str]:
    """Return the files of one part of the windows in ``folder``: train, validation or
    test.
    """
    files = [f"{folder}/{part}/features.json"]
    for shard in range(SHARDS):
        files.append(f"{folder}/{part}/tokens-{shard:02}.parquet")
        files.append(f"{folder}/{part}/windows-{shard:02}.parquet")
    return files


def _model_action(name: str, *tables: str, census: bool = False) -> Action:
    """An action that runs a model."""
    return Action(
        f"{MODULES}.{name}",
        tables=tables,
        census=census,
        model=True,
        threads=MODEL_THREADS,
    )


def _asking_action(name: str) -> Action:
    """An action that asks a language model."""
    return Action(
        f"{MODULES}.{name}",
        tables=CONTRACTS,
        model=True,
        asks=True,
        mem_mb=LEAST_MB,
        minutes=ASKING_MINUTES,
        threads=MODEL_THREADS,
    )


class SpanJobs(TaskJobs):
    """The jobs of a data set with contracts and questions."""

    ACTIONS: ClassVar = {
        "windows": Action(
            f"{MODULES}.windows", tables=(*CONTRACTS, "training_examples")
        ),
        "encode": _model_action("encode", "contracts"),
        "pretrain": _model_action("pretrain"),
        "release": Action(f"{MODULES}.release"),
        "search": _model_action("search", *CONTRACTS, census=True),
        "choose": Action(f"{MODULES}.choose", tables=(*CONTRACTS, "answers")),
        "train": _model_action("train", *CONTRACTS, census=True),
        "train_linear": Action(
            f"{MODULES}.train_linear",
            tables=("contracts", "training_examples"),
            mem_mb=6000,
        ),
        "predict": _model_action("predict", *CONTRACTS),
        "predict_linear": Action(f"{MODULES}.predict_linear", tables=CONTRACTS),
        "ask": _asking_action("ask"),
        "write": _asking_action("write"),
        "quote": Action(f"{MODULES}.quote", tables=(*CONTRACTS, "answers")),
        "join": Action(f"{MODULES}.join", tables=CONTRACTS),
        "submitted": Action(
            "spans.submitted",
            tables=CONTRACTS,
            fields=("task", "test", "evaluator", "n_best", "linear", "loss", "heads"),
        ),
        "score": Action(
            f"{MODULES}.score",
            tables=("questions", "answers"),
            fields=("evaluator", "relaxed", "low_thresholds"),
        ),
    }

    def action(self, run: Run, settings: JsonObject) -> str:
        """The action that makes a run; text outputs of language models have their
        own.
        """
        if run.experiment == ASK and self.task.quotes:
            return "write"
        return super().action(run, settings)

    def features(self, action: str, run: Run, spec: Spec) -> dict[str, list[str]]:
        """Windows, or the vectors of a linear model."""
        settings = spec.settings
        if action in WINDOWS:
            size = f"{settings['max_length']}x{settings['step']}"
            folder = f"{self.folder}/{self.name}/{run.model}/{size}"
            parts = WINDOWS[action]
            return {role: window_files(folder, part) for role, part in parts.items()}
        if action in ("train_linear", "predict_linear"):
            return {"vectors": self.vectors(run, spec)}
        return {}
