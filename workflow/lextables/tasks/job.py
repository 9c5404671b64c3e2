"""The job of an action: its files, settings and places.

An action, such as `train` or `predict`, is a module of the task's folder ``actions``
with a function ``run(job)``.  All actions have the same script
(`workflow/scripts/task.py`), and a task states in its `actions.TaskJobs` what each of
them reads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lextables.pipeline.files import JsonObject
from lextables.pipeline.run import (
    check_weights,
    chosen,
    counts_of,
    identity,
    record_weights,
)


@dataclass(frozen=True)
class Job:
    """The argument of an action."""

    inputs: Mapping[str, Sequence[str]]
    """Files by role: `data` (tables of the data set, in the order of
    `actions.Action.tables`), `census`, `predictions` and `records` (of the runs that
    this run needs), `weights` and `weight_records` (of the runs whose weights it
    loads), `choice`, and the task's features.
    """
    outputs: Mapping[str, Sequence[str]]
    """Files by role: `record` (the run's `run.json`) and, by the action, `weights`,
    `predictions`, or `scores` and `units`.
    """
    settings: JsonObject
    """The settings of the run; for a ranking, which makes several runs, {condition:
    settings}.
    """
    task: JsonObject = field(default_factory=dict)
    """Fields of the registry's task, and further values (`actions.TaskJobs.values`)."""
    part: str = ""
    """The text for ``{}`` in `actions.Action.module_pattern`, mostly the kind of
    model.
    """
    experiment: str = ""
    """The experiment of the run."""
    seed: int = 0
    """The seed of the run."""
    weights_content: Sequence[str] = ()
    """The digests of the `weights` among the inputs."""
    code: str = ""
    """The fingerprint of the job's code."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """The config key ``device``."""
    work: str = ""
    """The folder of checkpoints."""
    vectors: str = ""
    """The folder of cached vectors."""
    asking: JsonObject = field(default_factory=dict)
    """The folder of cached answers, and the limits of language models
    (`models.spending.Limits`).
    """
    threads: int = 1
    """The number of threads that the job may use."""
    log: str = ""
    """The path of the job's log."""

    def output(self, role: str) -> str:
        """The only file that the job writes in this role."""
        (path,) = self.outputs[role]
        return path

    def record_weights(self) -> None:
        """Add the digest of the weights that the job wrote, if any, to its record."""
        if "weights" in self.outputs:
            record_weights(self.output("record"), self.output("weights"))

    @property
    def choice(self) -> JsonObject:
        """The chosen settings; empty if there was nothing to choose."""
        return chosen(self.inputs["choice"])

    def identity(self, device: str) -> JsonObject:
        """The identity of the checkpoints on a kind of ``device``
        (`pipeline.run.identity`).
        """
        (census,) = self.inputs["census"]
        return identity(counts_of(census), self.code, device, self.weights_content)


def from_rule(snakemake: Any) -> Job:
    """Return the job of a rule's script.

    ``snakemake`` is the object that Snakemake gives a script.  Its params are those of
    `planning.jobs.PlannedJob`, which also names the module of the action.  Raises
    `BadInput` if weights of another run are not those that this run wrote.
    """
    params = snakemake.params
    fields = dict(params.job)
    del fields["module"]
    inputs = _by_role(snakemake.input)
    return Job(
        inputs=inputs,
        outputs=_by_role(snakemake.output),
        weights_content=[check_weights(path) for path in inputs.get("weights", ())],
        **fields,
        **params.places,
        code=params.code,
        threads=snakemake.threads,
        log=str(snakemake.log),
    )


def _by_role(files: Any) -> dict[str, list[str]]:
    """Return a rule's inputs or outputs as {role: paths}."""
    by_role = {}
    for role, paths in files.items():
        by_role[role] = [paths] if isinstance(paths, str) else list(paths)
    return by_role
