"""Memory and time that a job with a model requests, from the model's parameters and its texts.

All speeds are estimates, for a GPU such as an A100 and for four cores.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lextables.models.resolve import Model
from lextables.pipeline.run import Run
from lextables.tasks import requests
from lextables.tasks.plan import ASK, SEARCH, Spec
from lextables.tasks.requests import Texts

Action = Literal["train", "read", "ask"]
MEGABYTE = 1e6
DEFAULT_LENGTH = 512  # tokens
LEAST_MB = 8000
BASE_MB = 4000  # Python, its libraries, CUDA's part on the host, data
LEAST_MINUTES, LEAST_CPU_MINUTES = 60, 240
UNKNOWN_MINUTES = 1440
STEP_MINUTES = 30
MARGIN = 2  # requested time for one unit of estimated time
# Bytes of a parameter on the host.  Training resumes with weights and both of Adam's states in float32, and
# on a processor it also has the gradients.
GPU_BYTES: Mapping[Action, int] = {"train": 12, "read": 4, "ask": 2}
CPU_BYTES: Mapping[Action, int] = {"train": 16, "read": 4, "ask": 4}
# Operations per second: bfloat16 in training, float32 or TF32 in reading.
GPU_SPEED: Mapping[Action, float] = {"train": 5e13, "read": 1.5e13, "ask": 1.5e13}
CPU_SPEED = 5e10
# Operations for each parameter and token: twice forward, and four times backward.
OPERATIONS: Mapping[Action, int] = {"train": 6, "read": 2, "ask": 2}
QUADRATIC = 4096  # tokens of a text whose attention costs as much as its layers
# A written token is read from memory with all parameters, and takes as long as so many tokens of a prompt.
WRITTEN = 20
HITS = 100  # hits of a query that are reranked
PADDED = 2  # tokens with padding for each token of a text, at most
WINDOWS = 2  # training windows for each window with an answer: one without an answer is sampled
# Parameters of a user's model without files here.
UNKNOWN = {"language-model": 8_000_000_000}
UNKNOWN_ENCODER = 400_000_000
STORED_BYTES = 2  # the least bytes of a stored parameter
# Volumes with as many examples as the released LawngNLI; `texts.csv` has the examples of 179 volumes.
RELEASED_VOLUMES = 18_000


@dataclass(frozen=True)
class Work:
    """What a model does in a job.

    ``tokens`` is the sum over all its passes, in texts of ``length`` tokens; None if unknown.  Each of its
    ``parameters`` is ``applied`` so many times to a token: 12 times in ALBERT, whose layers share them.
    """

    action: Action
    parameters: int
    tokens: float | None
    length: int = DEFAULT_LENGTH
    applied: int = 1


def mem_mb(work: Work, gpu: bool) -> int:
    """Return the megabytes of memory of the host that a job requests, a multiple of 1,000."""
    bytes_each = (GPU_BYTES if gpu else CPU_BYTES)[work.action]
    needed = BASE_MB + work.parameters * bytes_each / MEGABYTE
    return max(LEAST_MB, 1000 * math.ceil(needed / 1000))


def hours(work: Work, gpu: bool) -> float:
    """Return the estimated hours of a job's model; 0 if they are unknown."""
    speed = GPU_SPEED[work.action] if gpu else CPU_SPEED
    each = (
        OPERATIONS[work.action]
        * work.parameters
        * work.applied
        * (1 + work.length / QUADRATIC)
    )
    return each * (work.tokens or 0) / speed / 3600


def minutes(work: Work, gpu: bool) -> int:
    """Return the minutes that a job requests, a multiple of 30."""
    if work.tokens is None:
        return UNKNOWN_MINUTES
    return at_least(
        MARGIN * 60 * hours(work, gpu), LEAST_MINUTES if gpu else LEAST_CPU_MINUTES
    )


def volume_minutes(volumes: int, seconds: float, least: int = STEP_MINUTES) -> int:
    """Return the minutes that a job requests for volumes of case law, each of which takes ``seconds``."""
    return at_least(MARGIN * volumes * seconds / 60, least)


def at_least(needed: float, least: int) -> int:
    """Return ``needed`` minutes, rounded up to a multiple of 30, or ``least``."""
    return max(least, STEP_MINUTES * math.ceil(needed / STEP_MINUTES))


@dataclass(frozen=True)
class Estimator:
    """Estimates the work of planned runs from the registry's ``models`` and the numbers of ``texts``.

    ``own`` is {key of a user's model: its parameters}.
    """

    specs: Mapping[Run, Spec]
    models: Mapping[str, Model]
    texts: Texts
    own: Mapping[str, int]

    def work(self, runs: Sequence[Run]) -> Work:
        """Return the work of a job that makes these runs of one model."""
        spec = self.specs[runs[0]]
        parameters, applied = self._model(spec)
        settings = spec.settings
        try:
            tokens = sum(self._planned(run) for run in runs)
        except KeyError:  # a data set whose size is not recorded
            tokens = None
        if _asks(runs[0], settings):
            return Work("ask", parameters, tokens, 0, applied)
        action: Action = "train" if "batch_size" in settings else "read"
        length = max(_lengths(settings), default=0)
        return Work(action, parameters, tokens, length, applied)

    def encoding(self, encoder: str, dataset: str) -> Work:
        """Return the work of encoding all texts of a data set."""
        parameters, applied = self._sizes(encoder)
        try:
            tokens = self._all_tokens(dataset)
        except KeyError:
            tokens = None
        return Work("read", parameters, tokens, applied=applied)

    def parameters(self, spec: Spec) -> int:
        """Return the number of parameters of a run's model."""
        return self._model(spec)[0]

    def _model(self, spec: Spec) -> tuple[int, int]:
        """The parameters of a run's model, and how many times each is applied."""
        while "model" not in spec.settings and spec.sources:
            spec = self.specs[spec.sources[0]]
        tokenizer = spec.settings.get("tokenizer", {}).get("model", "")
        return self._sizes(spec.settings.get("model") or tokenizer)

    def _sizes(self, name: str) -> tuple[int, int]:
        if name in self.own:
            return self.own[name], 1
        model = self.models.get(name)
        if model is None:
            return UNKNOWN_ENCODER, 1
        return model.parameters or UNKNOWN.get(
            model.kind, UNKNOWN_ENCODER
        ), model.applied

    def _rows(self, dataset: str, part: str) -> float:
        return self.texts[dataset, part][0]

    def _all_tokens(self, dataset: str) -> float:
        sizes = [
            rows * tokens
            for (name, _), (rows, tokens) in self.texts.items()
            if name == dataset
        ]
        if not sizes:
            raise KeyError(dataset)
        return sum(sizes)

    def _planned(self, run: Run) -> float:
        """The tokens that a run's model processes; the most of the trials that it is chosen from."""
        choice = self.specs[run].choice
        if choice is None or run.experiment == SEARCH:
            return self._tokens(run, self.specs[run].settings)
        trials = self.specs[choice].needs
        if not trials:
            raise KeyError(choice)
        return max(self._tokens(trial, self.specs[trial].settings) for trial in trials)

    def _tokens(self, run: Run, settings: Mapping[str, Any]) -> float:
        """The tokens that a run's model processes."""
        if "batch_size" in settings:
            return self._trained(run.paper, settings)
        if _asks(run, settings):
            return self._asked(run, settings)
        length = settings.get("max_length") or DEFAULT_LENGTH
        if "step" in settings:
            contracts, tokens = self.texts[run.paper, "test"]
            windows = (
                contracts
                * self._rows(run.paper, "questions")
                * (tokens / settings["step"] + 1)
            )
            return windows * length
        if run.experiment.startswith("rerank"):
            return self._rows(run.paper, "test") * HITS * length
        if "tokenizer" in settings:
            readings = settings.get("readings", [settings])
            return self._rows(run.paper, "test") * sum(
                self._padded(run.paper, each) for each in readings
            )
        return self._all_tokens(run.paper)

    def _trained(self, dataset: str, settings: Mapping[str, Any]) -> float:
        """The tokens of all updates of a training; single-task models are trained for each head."""
        examples = settings["batch_size"] * self._updates(dataset, settings)
        if settings.get("setting") == "single":
            examples *= self._rows(dataset, "heads")
        if (
            settings.get("kind") == "bi-encoder"
        ):  # a query is trained with its documents
            examples *= 1 + settings.get("documents", 1)
        return examples * self._padded(dataset, settings)

    def _padded(self, dataset: str, settings: Mapping[str, Any]) -> float:
        """The tokens of a text or pair in a batch, with padding, up to the maximum length."""
        longest = settings.get("max_length") or DEFAULT_LENGTH
        view = settings.get("view") or {"text": "text_id", "pair": None}
        columns = [view["text"], view.get("pair")]
        known = [
            self.texts[dataset, column][1]
            for column in columns
            if (dataset, column) in self.texts
        ]
        return min(longest, PADDED * sum(known)) if any(known) else longest

    def _updates(self, dataset: str, settings: Mapping[str, Any]) -> float:
        share = settings.get("percent", 100) / 100
        if settings.get("max_updates"):
            return settings["max_updates"]
        if settings.get("passes"):
            part = f"train {settings['where']}" if settings.get("where") else "train"
            rows = self.texts.get((dataset, part), self.texts[dataset, "train"])[0]
            return settings["passes"] * rows * share / settings["batch_size"]
        if settings.get("epochs"):
            windows = WINDOWS * self._rows(dataset, "answered")
            return settings["epochs"] * windows * share / settings["batch_size"]
        updates = settings.get("updates") or 0
        return updates if isinstance(updates, int) else max(updates)

    def _asked(self, run: Run, settings: Mapping[str, Any]) -> float:
        """The tokens that a language model reads; a written token counts `WRITTEN` times."""
        if "way" in settings:
            step = "ask"
        elif "presence" in settings:
            step = "spans_ask"
        elif "questions" in settings:
            step = "spans_write"
        elif "best" in settings:
            step = "answers_mark_ask" if run.experiment == "mark" else "answers_ask"
        else:
            step = "classification_ask"
        sent, received = requests.tokens(step, run.paper, settings, self.texts)
        return sent + WRITTEN * received


def _asks(run: Run, settings: Mapping[str, Any]) -> bool:
    return run.experiment == ASK or settings.get("kind") == "language-model"


def _lengths(settings: Mapping[str, Any]) -> list[int]:
    """The maximum length in tokens of each reading of a run."""
    readings = settings.get("readings", [settings])
    return [reading.get("max_length") or DEFAULT_LENGTH for reading in readings]


def own_parameters(kind: str, files: Sequence[Path]) -> int:
    """Return the most parameters that a user's model can have, by its files; typical ones without files."""
    size = sum(
        file.stat().st_size
        for file in files
        if file.suffix in (".safetensors", ".bin", ".gguf")
    )
    return size // STORED_BYTES or UNKNOWN.get(kind, UNKNOWN_ENCODER)
