"""Interfaces of Snakemake without documentation still do what the pipeline needs."""

import json

import pytest

from helpers import forked
from lextables import ROOT

SNAKEFILE = """
import json, logging, sys
from pathlib import Path
sys.path.insert(0, {package!r})
from lextables.planning.snakemake_interface import (
    SnakemakeRun, is_graph_complete, targets_of_command_line,
)
from snakemake.logging import logger

RUN = SnakemakeRun(workflow)
HERE = Path(workflow.basedir)
at_start = dict(
    main=RUN.is_main(HERE),
    elsewhere=RUN.is_main(HERE.parent),
    remote=RUN.runs_jobs_elsewhere,
    no_cores=RUN.has_no_cores,
    dry_run=RUN.is_dry_run,
    targets=sorted(targets_of_command_line()),
)

class Screen(logging.Handler):
    def emit(self, record):
        if is_graph_complete(record):
            jobs = [
                (job.rule.name, [other.rule.name for other in before])
                for job, before in RUN.jobs_with_dependencies()
            ]
            found = at_start | dict(
                rules=sorted(RUN.rule_names),
                graph_targets=sorted(RUN.targets),
                to_run=sorted(job.rule.name for job in RUN.jobs_to_run),
                jobs=jobs,
                ids=RUN.ids_on_cluster(),
            )
            Path("found.json").write_text(json.dumps(found))
            logger.removeHandler(self)  # at its end, a dry run logs this again

if RUN.is_dry_run:
    logger.addHandler(Screen())

rule last:
    input: "first.txt"
    output: "last.txt"
    shell: "touch {{output}}"

rule first:
    output: "first.txt"
    shell: "touch {{output}}"
"""


@pytest.mark.parametrize("finished", [False, True])
def test_every_interface_returns_what_its_docstring_says(tmp_path, finished):
    snakefile = SNAKEFILE.format(package=str(ROOT / "workflow"))
    (tmp_path / "Snakefile").write_text(snakefile)
    command = (tmp_path, "--cores", "1", "last")
    if finished:
        assert forked.snakemake(*command).code == 0
    assert forked.snakemake(*command, "--dry-run").code == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert found == {
        "main": True,
        "elsewhere": False,
        "remote": False,
        "no_cores": False,
        "dry_run": True,
        "targets": ["last"],
        "rules": ["first", "last"],
        "graph_targets": ["last"],
        "to_run": [] if finished else ["first", "last"],
        "jobs": [["first", []], ["last", ["first"]]],
        "ids": [],
    }
