"""Resources of rules: memory, time and GPU.  Each retry of a job requests more."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lextables.models.files import model_files
from lextables.pipeline.config import REHEARSALS
from lextables.planning.rule_values import Params, Resource, Wildcards
from lextables.planning.runs import Runs
from lextables.tasks import resources
from lextables.tasks.resources import ModelSizes, Speed, Work

TEXTS = "resources/costs/texts.csv"
RECORDS = "resources/costs/records.csv"
SPEEDS = "speeds.csv"  # of a rehearsal with the papers' models on a GPU, in its results
ENCODED_LENGTH = 128  # tokens of a piece of text without a stated length


def per_attempt(amount: int) -> Resource:
    """Return a resource: ``amount``, and as much more at each retry."""

    def requested(wildcards: Wildcards, attempt: int) -> int:
        return amount * attempt

    return requested


@dataclass(frozen=True)
class JobResources:
    """The resources of jobs under the configuration."""

    runs: Runs
    shares: dict[str, float] = field(default_factory=dict)
    """{data set: share of the published number of texts that it is built with}."""

    @property
    def gpus(self) -> int:
        """GPUs of a job with a model; profiles/default has one for one job at a time."""
        return int(self.runs.project.context.gpu)

    @property
    def model_threads(self) -> int:
        """Threads of a job with a model.

        The sample's models are so small that two jobs with one core each are faster than
        one job with two.
        """
        return 1 if self.runs.project.config.data == "sample" else 4

    @cached_property
    def on_gpu(self) -> Params:
        """GPU of a job with a model, and the config's resources for the cluster.

        A gres that names GPUs replaces the number of GPUs, because SLURM's plugin refuses
        both together.
        """
        found: Params = {"gpu": self.gpus}
        if self.gpus:
            found.update(**self.runs.project.config.gpu_resources)
        if "gpu" in found.get("gres", ""):
            del found["gpu"]
        return found

    @cached_property
    def sizes(self) -> ModelSizes:
        """The sizes of the models of the planned runs."""
        project = self.runs.project
        own = {}
        for extra in project.config.extra_models:
            folder = project.weight_paths.get(extra.key, {}).get("folder")
            if folder:
                files = model_files(folder)
                own[extra.key] = resources.own_parameters(extra.kind, files)
        if project.config.data == "sample":
            texts = {}
            unknown = resources.SAMPLE_TEXTS
        else:
            texts = resources.load_texts(project.context.root / TEXTS)
            unknown = resources.UNKNOWN_TEXTS
        return ModelSizes(
            project.specs, project.context.models, own, texts, self.shares, unknown
        )

    @cached_property
    def speed(self) -> Speed:
        """The speed of the device: config key tflops, else as measured, else a default."""
        project = self.runs.project
        if project.config.tflops:
            return Speed(project.config.tflops)
        if not self.gpus:
            return Speed(resources.CORE_TFLOPS)
        models = project.context.models
        measured = resources.measured_speeds(project.context.root / RECORDS, models)
        rehearsed = Path("results", REHEARSALS["paper"], SPEEDS)
        if rehearsed.is_file():
            measured |= resources.measured_speeds(rehearsed, models)
        return Speed(resources.GPU_TFLOPS, measured)

    def seconds(self, work: Work) -> float:
        """Return the estimated seconds of a job with a model."""
        seconds = self.speed.seconds(work)
        return seconds if self.gpus else seconds / self.model_threads

    def limited(self, minutes: int) -> int | float:
        """Return ``minutes``, at most config key max_runtime."""
        return min(minutes, self.runs.project.config.max_runtime or math.inf)

    def runtime(self, minutes: int) -> Resource:
        """Return a resource: ``minutes``, as many more at each retry, and a limit."""

        def requested(wildcards: Wildcards, attempt: int) -> int | float:
            return self.limited(minutes * attempt)

        return requested

    def run_work(self, **fixed: str) -> Callable[[Wildcards], Work]:
        """Return a function of wildcards: the work of a job that makes one run.

        ``fixed`` are the parts of the run that are no wildcards of the rule.
        """

        def work(wildcards: Wildcards) -> Work:
            return self.sizes.work([self.runs.run_of(wildcards, **fixed)])

        return work

    def encoding(self, wildcards: Wildcards) -> Work:
        """Return the work of a job that encodes all texts of a data set."""
        dataset = getattr(wildcards, "dataset", "")
        length = int(getattr(wildcards, "length", ENCODED_LENGTH))
        return self.sizes.encoding(wildcards.encoder, dataset, length)

    def of_small_model(self, minutes: int, mem_mb: int = resources.LEAST_MB) -> Params:
        """Return the resources of a job with a small model."""
        return {
            **self.on_gpu,
            "mem_mb": per_attempt(mem_mb),
            "runtime": self.runtime(minutes),
        }

    def of_model(self, work_of: Callable[[Wildcards], Work]) -> Params:
        """Return the resources of a job with a model that does ``work_of`` its wildcards."""

        def mem_mb(wildcards: Wildcards, attempt: int) -> int:
            return resources.mem_mb(work_of(wildcards), bool(self.gpus)) * attempt

        def runtime(wildcards: Wildcards, attempt: int) -> int | float:
            seconds = self.seconds(work_of(wildcards))
            minutes = resources.minutes(seconds, bool(self.gpus))
            return self.limited(minutes * attempt)

        return {**self.on_gpu, "mem_mb": mem_mb, "runtime": runtime}

    def of_asking(self, minutes: int, work_of: Callable[[Wildcards], Work]) -> Params:
        """Return the resources of a job that asks a language model, for ``minutes`` at least.

        A model on a server needs neither a GPU nor memory of this machine.
        """
        local = self.of_model(work_of)

        def mem_mb(wildcards: Wildcards, attempt: int) -> int:
            if self.runs.asked_locally(wildcards):
                return local["mem_mb"](wildcards, attempt)
            return resources.LEAST_MB * attempt

        def runtime(wildcards: Wildcards, attempt: int) -> int | float:
            least = self.limited(minutes * attempt)
            if self.runs.asked_locally(wildcards):
                return max(least, local["runtime"](wildcards, attempt))
            return least

        found: Params = {"mem_mb": mem_mb, "runtime": runtime}
        for name, value in self.on_gpu.items():
            found[name] = self._if_local(value)
        return found

    def _if_local(self, value: Any) -> Resource:
        """A resource that jobs which ask a server do not have."""

        def requested(wildcards: Wildcards, attempt: int) -> Any:
            return value if self.runs.asked_locally(wildcards) else None

        return requested
