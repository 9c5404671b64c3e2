"""Resources of rules: memory, time and GPU.  Each retry of a job requests more."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lextables.models.files import model_files
from lextables.models.resolve import own_location
from lextables.pipeline.config import REHEARSALS
from lextables.planning.project import Project
from lextables.planning.rule_values import Params, Resource, Wildcards
from lextables.tasks import resources
from lextables.tasks.actions import MODEL_THREADS, Action
from lextables.tasks.resources import ModelSizes, Speed, Work

TEXTS = "resources/costs/texts.csv"
RECORDS = "resources/costs/records.csv"
SPEEDS = "speeds.csv"  # of a rehearsal with the papers' models on a GPU, in its results


def per_attempt(amount: int) -> Resource:
    """Return a resource: ``amount``, and as much more at each retry."""

    def requested(wildcards: Wildcards, attempt: int) -> int:
        return amount * attempt

    return requested


def requests_gpu(requested: Mapping[str, Any]) -> bool:
    """Whether the resources of a job include a GPU, as a number or in a gres."""
    return bool(requested.get("gpu")) or "gpu" in str(requested.get("gres"))


@dataclass(frozen=True)
class JobResources:
    """The resources of jobs under the configuration."""

    project: Project
    shares: dict[str, float] = field(default_factory=dict)
    """{data set: share of the published number of texts that it is built with}, set by
    the rules that build it (lawngnli.smk); 1 for other data sets.
    """

    @property
    def gpus(self) -> int:
        """GPUs of a job with a model: one, or none.

        With profiles/default one such job runs at a time.
        """
        return int(self.project.context.gpu)

    @property
    def model_threads(self) -> int:
        """Threads of a job with a model.

        The sample's models are so small that two jobs with one core each are faster
        than one job with two.
        """
        return 1 if self.project.config.data == "sample" else MODEL_THREADS

    @cached_property
    def on_gpu(self) -> Params:
        """GPU of a job with a model, and the config's resources for the cluster.

        A gres that names GPUs replaces the number of GPUs, because SLURM's plugin
        refuses both together.
        """
        gpu_resources: Params = {"gpu": self.gpus}
        if self.gpus:
            gpu_resources.update(**self.project.config.gpu_resources)
        if "gpu" in gpu_resources.get("gres", ""):
            del gpu_resources["gpu"]
        return gpu_resources

    @cached_property
    def sizes(self) -> ModelSizes:
        """The sizes of the models of the planned runs."""
        project = self.project
        own = {}
        for extra in project.config.extra_models:
            folder = project.weight_paths.get(own_location(extra), {}).get("folder")
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
            specs=project.specs,
            models=project.context.models,
            own=own,
            texts=texts,
            shares=self.shares,
            unknown=unknown,
        )

    @cached_property
    def speed(self) -> Speed:
        """The speed of the device: config key tflops, else as measured, else a
        default.
        """
        project = self.project
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
        return min(minutes, self.project.config.max_runtime or math.inf)

    def runtime(self, minutes: int) -> Resource:
        """Return a resource: ``minutes``, as many more at each retry, and a limit."""

        def requested(wildcards: Wildcards, attempt: int) -> int | float:
            return self.limited(minutes * attempt)

        return requested

    def mem_mb(self, action: Action, work: Work | None) -> int:
        """Return the memory of a job, in MB: estimated from the ``work`` of its model,
        or that of its action if no model runs here.
        """
        if work is None:
            return action.mem_mb
        return resources.mem_mb(work, bool(self.gpus))

    def minutes(self, action: Action, work: Work | None) -> int:
        """Return the minutes of a job: estimated from the ``work`` of its model, or
        those of its action if no model runs here.
        """
        if work is None:
            return action.minutes
        estimated = resources.minutes(self.seconds(work), bool(self.gpus))
        return max(estimated, action.minutes) if action.asks else estimated

    def of_small_model(self, minutes: int, mem_mb: int = resources.LEAST_MB) -> Params:
        """Return the resources of a job with a small model."""
        return {
            **self.on_gpu,
            "mem_mb": per_attempt(mem_mb),
            "runtime": self.runtime(minutes),
        }
