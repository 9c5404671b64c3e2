"""All undocumented interfaces of Snakemake that the project uses, each with its reason.

A new version of Snakemake may change them: tests/unit/test_snakemake_interface.py runs
each on a small workflow.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from logging import LogRecord
from pathlib import Path
from typing import Any

from snakemake.cli import get_argument_parser
from snakemake.common import NOTHING_TO_BE_DONE_MSG
from snakemake_interface_logger_plugins.common import LogEvent


@dataclass(frozen=True)
class SnakemakeRun:
    """This run of Snakemake; ``workflow`` is the object that Snakefiles see."""

    workflow: Any

    def is_main(self, root: Path) -> bool:
        """Whether this process is the user's command, and not a job or another
        workflow's module.

        Only the command checks targets and takes locks.
        """
        folder = Path(self.workflow.basedir).absolute()
        return self.workflow.is_main_process and folder == root

    @property
    def runs_jobs_elsewhere(self) -> bool:
        """Whether a cluster runs the jobs: then only Snakemake can end them."""
        return not self.workflow.local_exec

    @property
    def uses_environments(self) -> bool:
        """Whether jobs run in environments of conda or in containers, with their own
        Python.
        """
        return bool(self.workflow.deployment_settings.deployment_method)

    @property
    def has_no_cores(self) -> bool:
        """Whether the command has ``--cores 0``, with which Snakemake waits for
        ever.
        """
        return self.workflow.resource_settings.cores == 0

    @property
    def is_dry_run(self) -> bool:
        """Whether the command starts no job; such a run takes no locks."""
        return self.workflow.output_settings.dryrun

    @property
    def targets(self) -> set[str]:
        """The targets of the command, to see whether `plan` is the only one."""
        return set(self.workflow.dag_settings.targets)

    @property
    def rule_names(self) -> set[str]:
        """The names of all rules, to suggest one for a misspelt target."""
        return {rule.name for rule in self.workflow.rules}

    @property
    def jobs_to_run(self) -> list[Any]:
        """The jobs that are not finished, to estimate the remaining time."""
        return list(self.workflow.dag.needrun_jobs())

    def jobs_with_dependencies(self) -> Iterator[tuple[Any, list[Any]]]:
        """Yield each job of the graph after the jobs that it depends on, with these."""
        dag = self.workflow.dag
        for level in dag.toposorted():
            for job in sorted(level, key=lambda job: str(job.output)):
                yield job, list(dag.dependencies[job])

    def ids_on_cluster(self) -> list[str]:
        """The cluster's numbers of unfinished jobs that a killed run submitted."""
        numbers = []
        for job in self.jobs_to_run:
            numbers += self.workflow.persistence.external_jobids(job)
        return numbers


def run_scripts_by(program: str) -> None:
    """Let the scripts of rules run by ``program``.

    Snakemake runs them by the Python in `sys.executable`, which it reads at each job
    (`snakemake.script.PythonScript`); no option names another program.
    """
    sys.executable = program


def targets_of_command_line() -> set[str]:
    """Return the targets that the user typed.

    ``dag_settings.targets`` is not set yet while the Snakefile is read.
    """
    return set(get_argument_parser().parse_known_args()[0].targets)


def config_files_of_command_line() -> list[Path]:
    """Return the files of the option ``--configfile``."""
    return get_argument_parser().parse_known_args()[0].configfile or []


def config_of_command_line() -> list[str]:
    """Return the words ``key=value`` of the option ``--config``, as typed: of a
    repeated key Snakemake keeps the last value.
    """
    return get_argument_parser().parse_known_args()[0].config or []


def is_graph_complete(record: LogRecord) -> bool:
    """Whether a record of the log tells that a dry run has the graph of its jobs.

    No hook of a workflow is called in a dry run.
    """
    is_summary = getattr(record, "event", None) is LogEvent.RUN_INFO
    return is_summary or record.msg == NOTHING_TO_BE_DONE_MSG
