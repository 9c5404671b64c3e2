"""A planned job, and what a rule takes from its jobs.

A `PlannedJob` is a plain record that can be printed.  A rule takes everything from the
job that its wildcards name (`RuleJobs`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lextables.planning.job_resources import JobResources
from lextables.planning.rule_values import Files, Params, Resource, Wildcards
from lextables.planning.scripts import fingerprint_of
from lextables.tasks.actions import Action
from lextables.tasks.resources import Work

SCRIPT = "task.py"  # of all actions


@dataclass(frozen=True)
class PlannedJob:
    """A job: its action, the files that it reads by role, and what the action is given.

    ``params`` are compared between runs of the pipeline, and ``places`` are folders and
    limits, which change no result.  ``work`` is what a model does on this machine, for
    its time and memory; None for other jobs.
    """

    action: Action
    inputs: Mapping[str, Files]
    params: Params
    places: Params = field(default_factory=dict)
    work: Callable[[], Work | None] = lambda: None

    @property
    def code(self) -> str:
        """The fingerprint of the job's code."""
        names = [self.action.module]
        if self.action.module_pattern:
            names.append(self.action.module_pattern.format(self.params["part"]))
        return fingerprint_of(SCRIPT, *(f"lextables.tasks.{name}" for name in names))


# Snakemake searches the texts of input functions for patterns, and a pattern is in a
# folder.
@dataclass(frozen=True, repr=False)
class RuleJobs:
    """What a rule takes from its jobs: functions of the rule's wildcards.

    ``job_of`` returns the job that wildcards name, and ``folder`` is the pattern of the
    folders of its run.
    """

    job_of: Callable[[Wildcards], PlannedJob]
    resources_of: JobResources
    folder: str = ""

    @cached_property
    def _planned(self) -> dict[tuple[tuple[str, str], ...], PlannedJob]:
        """{wildcards: their job}."""
        return {}

    def job(self, wildcards: Wildcards) -> PlannedJob:
        """The job that wildcards name, made once: Snakemake asks for its parts one by
        one.
        """
        names = tuple(wildcards.items())
        if names not in self._planned:
            self._planned[names] = self.job_of(wildcards)
        return self._planned[names]

    def inputs(self, wildcards: Wildcards) -> dict[str, Files]:
        """Input: files by role."""
        return dict(self.job(wildcards).inputs)

    def params(self, wildcards: Wildcards) -> Params:
        """Param: the action's module, and what it is given."""
        job = self.job(wildcards)
        return {"module": job.action.module, **job.params}

    def code(self, wildcards: Wildcards) -> str:
        """Param: the fingerprint of the code."""
        return self.job(wildcards).code

    def places(self, wildcards: Wildcards, threads: int) -> Params:
        """Param: folders, and limits on spending and rate.

        Snakemake does not compare params that depend on the threads, so that other
        limits rerun nothing.
        """
        return self.job(wildcards).places

    def threads(self, wildcards: Wildcards) -> int:
        """Threads of the job."""
        return min(self.job(wildcards).action.threads, self.resources_of.model_threads)

    @property
    def resources(self) -> dict[str, Resource]:
        """Resources: memory, time and, for a model on this machine, a GPU."""
        requested: dict[str, Resource] = {
            "mem_mb": self._mem_mb,
            "runtime": self._runtime,
        }
        for name, value in self.resources_of.on_gpu.items():
            requested[name] = self._with_model(value)
        return requested

    def _mem_mb(self, wildcards: Wildcards, attempt: int) -> int:
        """Memory in MB; each retry requests more."""
        job = self.job(wildcards)
        return self.resources_of.mem_mb(job.action, job.work()) * attempt

    def _runtime(self, wildcards: Wildcards, attempt: int) -> int | float:
        """Minutes, up to the config's limit; each retry requests more."""
        job = self.job(wildcards)
        minutes = self.resources_of.minutes(job.action, job.work())
        return self.resources_of.limited(minutes * attempt)

    def _with_model(self, value: Any) -> Resource:
        """A resource that only jobs with a model on this machine have."""

        def requested(wildcards: Wildcards, attempt: int) -> Any:
            return value if self.job(wildcards).work() else None

        return requested
