"""Memory and time that a job with a model requests.

Memory follows from the model's parameters.  Time follows from its parameters, the
tokens that it trains on and reads, and the speed of the device: 6 floating-point
operations for each parameter and token of a training, 2 for each of an inference
(Kaplan et al., 2020, Section 2.1).  The numbers of texts are those of the published
data sets (`resources/costs/texts.csv`), each as long as the model's limit, so that the
time is an upper estimate.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lextables.models.resolve import Model
from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import Run
from lextables.tasks.planner import ASK, SEARCH, Spec

Action = Literal["train", "read", "ask"]
Pass = Literal["train", "read"]  # of tokens through a model
MEGABYTE = 1e6
DEFAULT_LENGTH = 512  # tokens
LEAST_MB = 8000  # the least memory that a job with a model requests
BASE_MB = 4000  # Python, its libraries, CUDA's part on the host, data
STEP_MINUTES = 30  # requested times are multiples of it
LEAST_MINUTES = 60  # with a GPU
LEAST_CPU_MINUTES = 240
MOST_MINUTES = 10_080  # a week
MARGIN = 4  # requested time, divided by the estimated time of a model
VOLUME_MARGIN = 2  # the same for a job on volumes of case law
# Floating-point operations for each parameter and token.
OPERATIONS: Mapping[Pass, int] = {"train": 6, "read": 2}
TERA = 1e12
# TFLOP/s of a GPU: an eighth of the 312 in the data sheet of an A100 (bfloat16),
# because batches of short texts and small models are far from it.  Of one core of a
# processor: MiniLM was measured at 0.07 to 0.12.
GPU_TFLOPS = 40.0
CORE_TFLOPS = 0.05
START_SECONDS = 120  # imports, weights, data
# Bytes of a parameter on the host.  Training resumes with weights and both of Adam's
# states in float32, and on a processor it also has the gradients.
GPU_BYTES: Mapping[Action, int] = {"train": 12, "read": 4, "ask": 2}
CPU_BYTES: Mapping[Action, int] = {"train": 16, "read": 4, "ask": 4}
# Assumed parameters of models whose number is unknown, by kind, and of the other kinds.
UNKNOWN = {"language-model": 8_000_000_000}
UNKNOWN_ENCODER = 400_000_000
STORED_BYTES = 2  # the least bytes of a stored parameter
# Volumes of case law that give as many examples as the released LawngNLI has.
RELEASED_VOLUMES = 18_000
# Assumed number of texts of a part of a data set: of the sample, and of a data set that
# texts.csv does not have.
SAMPLE_TEXTS = 1000.0
UNKNOWN_TEXTS = 100_000.0


@dataclass(frozen=True)
class Work:
    """The work of a model in a job, from which its time and memory are estimated."""

    action: Action
    parameters: int
    """Number of parameters of the model."""
    length: int = DEFAULT_LENGTH
    """Tokens of a text, at most."""
    applied: int = 1
    """How many times each parameter is applied to a token: 12 times in ALBERT, whose
    layers share them.
    """
    trained: float = 0.0
    """Tokens in training."""
    read: float = 0.0
    """Tokens in inference."""
    model: str = ""
    """Name of the model in the registry."""


@dataclass(frozen=True)
class Speed:
    """TFLOP/s of the device: ``default``, or as ``measured`` with a model."""

    default: float
    measured: Mapping[tuple[str, Pass], float] = field(default_factory=dict)

    def seconds(self, work: Work) -> float:
        """Return the estimated seconds of a job on one device or core."""
        seconds = float(START_SECONDS)
        passes: dict[Pass, float] = {"train": work.trained, "read": work.read}
        for kind, tokens in passes.items():
            operations = OPERATIONS[kind] * work.parameters * work.applied * tokens
            tflops = self.measured.get((work.model, kind), self.default)
            seconds += operations / (tflops * TERA)
        return seconds


def mem_mb(work: Work, gpu: bool) -> int:
    """Return the host memory that a job requests, in MB, a multiple of 1000."""
    bytes_of = GPU_BYTES if gpu else CPU_BYTES
    weights = work.parameters * bytes_of[work.action] / MEGABYTE
    thousands = math.ceil((BASE_MB + weights) / 1000)
    return max(LEAST_MB, 1000 * thousands)


def minutes(seconds: float, gpu: bool) -> int:
    """Return the minutes that a job of estimated ``seconds`` requests.

    They are `MARGIN` times the estimate, rounded down to a multiple of 30; at least an
    hour (4 hours without a GPU) and at most a week.
    """
    steps = math.floor(MARGIN * seconds / 60 / STEP_MINUTES)
    least = LEAST_MINUTES if gpu else LEAST_CPU_MINUTES
    return min(MOST_MINUTES, max(least, STEP_MINUTES * steps))


def volume_minutes(volumes: int, seconds: float, least: int = STEP_MINUTES) -> int:
    """Return the minutes that a job requests for ``volumes`` of case law.

    Each takes ``seconds``.
    """
    steps = math.ceil(VOLUME_MARGIN * volumes * seconds / 60 / STEP_MINUTES)
    return max(least, STEP_MINUTES * steps)


@dataclass(frozen=True)
class Texts:
    """The ``number`` of texts in a part of a data set, and the ``tokens`` of each.

    ``tokens`` is None if each text fills the model's maximum length.
    """

    number: float
    tokens: int | None = None


def load_texts(path: str | Path) -> dict[tuple[str, str], Texts]:
    """Read {(data set, part): its texts}.

    For the part `heads` the number is that of heads, and for a part `updates …` that of
    updates in the longest training with the authors' settings.
    """
    texts = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            tokens = int(row["tokens"]) if row["tokens"] else None
            texts[row["dataset"], row["part"]] = Texts(float(row["number"]), tokens)
    return texts


def measured_speeds(
    path: str | Path, models: Mapping[str, Model]
) -> dict[tuple[str, Pass], float]:
    """Return {(model, train or read): TFLOP/s}, measured in earlier trainings and
    inferences.

    ``path`` is a csv file of their records (`report.costs`); those without a device are
    left out.  If a model has several, the slowest counts.
    """
    speeds: dict[tuple[str, Pass], float] = {}
    with Path(path).open(encoding="utf-8", newline="") as file:
        for record in csv.DictReader(file):
            model = models.get(record["model"])
            if not record["device"] or model is None or not model.parameters:
                continue
            kind: Pass = "train" if float(record["updates"] or 0) else "read"
            per_token = OPERATIONS[kind] * model.parameters * model.applied
            operations = per_token * float(record["tokens"])
            speed = operations / float(record["seconds"]) / TERA
            key = (record["model"], kind)
            speeds[key] = min(speed, speeds.get(key, speed))
    return speeds


@dataclass(frozen=True)
class ModelSizes:
    """The sizes of the models and of the texts of planned runs."""

    specs: Mapping[Run, Spec]
    models: Mapping[str, Model]
    """The registered models."""
    own: Mapping[str, int]
    """{key of a user's model: its parameters}."""
    texts: Mapping[tuple[str, str], Texts] = field(default_factory=dict)
    """{(data set, part): its texts}, as published (`load_texts`)."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """{data set: the share of the published texts that it is built with}."""
    unknown: float = UNKNOWN_TEXTS
    """The number of texts of a part where none was published."""

    def work(self, runs: Sequence[Run]) -> Work:
        """Return the work of a job that makes these runs of one model."""
        run = runs[0]
        spec = self.specs[run]
        name = self._model_of(spec)
        parameters, applied = self._of_model(name)
        settings = spec.settings
        if run.experiment == ASK or settings.get("kind") == "language-model":
            tokens = self._tokens(run.data_set, "ask", DEFAULT_LENGTH)
            return Work(
                "ask", parameters, applied=applied, read=tokens * len(runs), model=name
            )
        action: Action = "train" if "batch_size" in settings else "read"
        trained = sum(self._trained_tokens(each) for each in runs)
        read = sum(self._read_tokens(each) for each in runs)
        longest = max(_lengths(settings))
        return Work(action, parameters, longest, applied, trained, read, name)

    def encoding(self, encoder: str, dataset: str = "", length: int = 64) -> Work:
        """Return the work of encoding the pieces of texts of a data set."""
        parameters, applied = self._of_model(encoder)
        tokens = self._tokens(dataset, "encode", length)
        return Work("read", parameters, applied=applied, read=tokens, model=encoder)

    def parameters(self, spec: Spec) -> int:
        """Return the number of parameters of a run's model."""
        return self._of_model(self._model_of(spec))[0]

    def _number(self, dataset: str, part: str) -> float:
        """The number of texts of a part of a data set."""
        texts = self.texts.get((dataset, part), Texts(self.unknown))
        return texts.number * self.shares.get(dataset, 1.0)

    def _tokens(self, dataset: str, part: str, length: int) -> float:
        """The tokens of a part of a data set, in texts of ``length`` unless stated."""
        texts = self.texts.get((dataset, part), Texts(self.unknown))
        return self._number(dataset, part) * (texts.tokens or length)

    def _trained_tokens(self, run: Run) -> float:
        """The tokens that the trainings of a run process, at most.

        A bi-encoder, which has a ``temperature``, reads a query and several documents
        for each example.
        """
        settings = self.specs[run].settings
        if "batch_size" not in settings:
            return 0.0
        examples = max(self._examples(run, trial) for trial in self._trials(run))
        documents = settings["documents"] + 1 if "temperature" in settings else 1
        length = max(_lengths(settings))
        texts = self.texts.get((run.data_set, "train"))
        if texts and texts.tokens:
            length = min(length, texts.tokens)
        return examples * documents * length * self._models(run)

    def _examples(self, run: Run, settings: JsonObject) -> float:
        """The examples that a training with these settings draws.

        Its length is stated in passes, in epochs, by the authors' settings, or in
        updates, of which there may be several numbers to try.
        """
        batch = settings["batch_size"]
        share = settings.get("percent", 100) / 100
        part = "train"
        if settings.get("where"):
            part += f" {settings['where']}"
        if settings.get("passes") is not None:
            return settings["passes"] * share * self._number(run.data_set, part)
        if settings.get("epochs") is not None:
            drawn = settings["epochs"] * share * self._number(run.data_set, part)
            return min(drawn, (settings.get("max_updates") or math.inf) * batch)
        if settings.get("published"):
            part = f"updates {settings['setting']}"
            if (run.data_set, part) in self.texts:
                return self.texts[run.data_set, part].number * batch
        updates = settings["updates"]
        return batch * (updates if isinstance(updates, int) else max(updates))

    def _trials(self, run: Run) -> list[JsonObject]:
        """The settings that a training may have: its own, and the same with the length
        of each trial among which a choice selects.
        """
        spec = self.specs[run]
        trials = [spec.settings]
        if spec.choice:
            choice = self.specs[spec.choice]
            chosen = list(choice.settings.get("trials", []))
            chosen += [self.specs[needed].settings for needed in choice.needs]
            for trial in chosen:
                used = {}
                for name in ("updates", "epochs"):
                    if trial.get(name):
                        used[name] = trial[name]
                trials.append({**spec.settings, **used})
        return [trial for trial in trials if _is_complete(trial)]

    def _models(self, run: Run) -> float:
        """The number of models that a run trains: one for each head if `single`."""
        settings = self.specs[run].settings
        if settings.get("setting") != "single":
            return 1
        heads = self.texts.get((run.data_set, "heads"), Texts(1)).number
        return min(heads, settings.get("heads") or math.inf)

    def _read_tokens(self, run: Run) -> float:
        """The tokens that a run reads for its predictions."""
        settings = self.specs[run].settings
        part = "validation" if run.experiment == SEARCH else "test"
        # Another run predicts with the weights of most trainings.
        if "batch_size" in settings and not self._reads(run):
            return 0.0
        # A search predicts after each number of updates.
        times = 1
        if run.experiment == SEARCH and not isinstance(settings.get("updates"), int):
            times = max(1, len(settings.get("updates") or ()))
        tokens = 0.0
        for length in _lengths(settings):
            tokens += self._tokens(run.data_set, part, length)
        return times * tokens

    def _reads(self, run: Run) -> bool:
        """Whether the job of a training also makes predictions."""
        return run.experiment in (SEARCH, "single-task")

    def _model_of(self, spec: Spec) -> str:
        """The name of the model of a run.

        Without one in its settings, it is that of the first run whose weights it reads,
        or else that of the tokenizer.
        """
        while "model" not in spec.settings and spec.sources:
            spec = self.specs[spec.sources[0]]
        model = spec.settings.get("model")
        tokenizer = spec.settings.get("tokenizer")
        if not model and tokenizer:
            model = tokenizer["model"]
        return model or ""

    def _of_model(self, name: str) -> tuple[int, int]:
        """The parameters of a model, and how many times each is applied."""
        if name in self.own:
            return self.own[name], 1
        model = self.models.get(name)
        if model is None:
            return UNKNOWN_ENCODER, 1
        unknown = UNKNOWN.get(model.kind, UNKNOWN_ENCODER)
        return model.parameters or unknown, model.applied


def _is_complete(trial: JsonObject) -> bool:
    """Whether a training's settings say how long it is; before a choice they may
    not.
    """
    lengths = (trial.get("passes"), trial.get("epochs"), trial.get("updates"))
    return any(value is not None for value in lengths)


def _lengths(settings: JsonObject) -> list[int]:
    """The maximum length in tokens of each view of the examples of a run."""
    views = settings.get("readings") or [settings]
    return [view.get("max_length") or DEFAULT_LENGTH for view in views]


def own_parameters(kind: str, files: Sequence[Path]) -> int:
    """Return the most parameters that a user's model can have, by the size of its
    ``files``; without files, a typical number.
    """
    size = 0
    for file in files:
        if file.suffix in (".safetensors", ".bin", ".gguf"):
            size += file.stat().st_size
    return size // STORED_BYTES or UNKNOWN.get(kind, UNKNOWN_ENCODER)
