"""Memory and time that a job with a model requests, from the model's parameters.

The time is an upper bound, and doubles when a job is tried again: how long a job takes
also depends on the number of texts, which is not known before their data set is built.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lextables.models.resolve import Model
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.plan import ASK, Spec

Action = Literal["train", "read", "ask"]
MEGABYTE = 1e6
DEFAULT_LENGTH = 512  # tokens
LEAST_MB = 8000
BASE_MB = 4000  # Python, its libraries, CUDA's part on the host, data
STEP_MINUTES = 30
LEAST_MINUTES, LEAST_CPU_MINUTES, MOST_MINUTES = 60, 1440, 10_080
# For texts of DEFAULT_LENGTH; longer ones take more time in proportion.
MINUTES_PER_MILLION = 8
MARGIN = 2  # requested time for one unit of estimated time of case law
# Bytes of a parameter on the host.  Training resumes with weights and both of Adam's
# states in float32, and on a processor it also has the gradients.
GPU_BYTES: Mapping[Action, int] = {"train": 12, "read": 4, "ask": 2}
CPU_BYTES: Mapping[Action, int] = {"train": 16, "read": 4, "ask": 4}
# Parameters of a user's model without files here.
UNKNOWN = {"language-model": 8_000_000_000}
UNKNOWN_ENCODER = 400_000_000
STORED_BYTES = 2  # the least bytes of a stored parameter
RELEASED_VOLUMES = 18_000  # with as many examples as the released LawngNLI


@dataclass(frozen=True)
class Work:
    """What a model does in a job: it reads texts of at most ``length`` tokens.

    Each of its ``parameters`` is ``applied`` so many times to a token: 12 times in
    ALBERT, whose layers share them.
    """

    action: Action
    parameters: int
    length: int = DEFAULT_LENGTH
    applied: int = 1


def mem_mb(work: Work, gpu: bool) -> int:
    """Return the megabytes of the host's memory that a job requests, in thousands."""
    bytes_of = GPU_BYTES if gpu else CPU_BYTES
    weights = work.parameters * bytes_of[work.action] / MEGABYTE
    thousands = math.ceil((BASE_MB + weights) / 1000)
    return max(LEAST_MB, 1000 * thousands)


def minutes(work: Work, gpu: bool) -> int:
    """Return the minutes that a job requests, a multiple of 30, at most a week."""
    millions = work.parameters * work.applied / 1e6
    longer = max(1.0, work.length / DEFAULT_LENGTH)
    needed = MINUTES_PER_MILLION * millions * longer
    least = LEAST_MINUTES if gpu else LEAST_CPU_MINUTES
    requested = at_least(needed, least)
    return min(MOST_MINUTES, requested)


def volume_minutes(volumes: int, seconds: float, least: int = STEP_MINUTES) -> int:
    """Return the minutes that a job requests for ``volumes`` of case law.

    Each takes ``seconds``.
    """
    return at_least(MARGIN * volumes * seconds / 60, least)


def at_least(needed: float, least: int) -> int:
    """Return ``needed`` minutes, rounded up to a multiple of 30, or ``least``."""
    steps = math.ceil(needed / STEP_MINUTES)
    return max(least, STEP_MINUTES * steps)


@dataclass(frozen=True)
class ModelSizes:
    """The sizes of the models of planned runs, from the registry's ``models``.

    ``own`` is {key of a user's model: its parameters}.
    """

    specs: Mapping[Run, Spec]
    models: Mapping[str, Model]
    own: Mapping[str, int]

    def work(self, runs: Sequence[Run]) -> Work:
        """Return the work of a job that makes these runs of one model."""
        run = runs[0]
        spec = self.specs[run]
        parameters, applied = self._of_run(spec)
        settings = spec.settings
        if run.experiment == ASK or settings.get("kind") == "language-model":
            return Work("ask", parameters, applied=applied)
        action: Action = "train" if "batch_size" in settings else "read"
        longest = max(_lengths(settings))
        return Work(action, parameters, longest, applied)

    def encoding(self, encoder: str) -> Work:
        """Return the work of encoding texts."""
        parameters, applied = self._of_model(encoder)
        return Work("read", parameters, applied=applied)

    def parameters(self, spec: Spec) -> int:
        """Return the number of parameters of a run's model."""
        return self._of_run(spec)[0]

    def _of_run(self, spec: Spec) -> tuple[int, int]:
        """The parameters of a run's model, and how many times each is applied."""
        while "model" not in spec.settings and spec.sources:
            spec = self.specs[spec.sources[0]]
        model, tokenizer = spec.settings.get("model"), spec.settings.get("tokenizer")
        if not model and tokenizer:
            model = tokenizer["model"]
        return self._of_model(model or "")

    def _of_model(self, name: str) -> tuple[int, int]:
        if name in self.own:
            return self.own[name], 1
        model = self.models.get(name)
        if model is None:
            return UNKNOWN_ENCODER, 1
        unknown = UNKNOWN.get(model.kind, UNKNOWN_ENCODER)
        return model.parameters or unknown, model.applied


def _lengths(settings: JsonObject) -> list[int]:
    """The maximum length in tokens of each view of the examples of a run."""
    views = settings.get("readings") or [settings]
    return [view.get("max_length") or DEFAULT_LENGTH for view in views]


def own_parameters(kind: str, files: Sequence[Path]) -> int:
    """Return the most parameters that a user's model can have, by its files.

    Without files, it is a typical number.
    """
    size = 0
    for file in files:
        if file.suffix in (".safetensors", ".bin", ".gguf"):
            size += file.stat().st_size
    return size // STORED_BYTES or UNKNOWN.get(kind, UNKNOWN_ENCODER)
