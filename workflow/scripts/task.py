"""Do an action of a task, such as training or scoring: its module is a param of the
rule.
"""

from importlib import import_module

from lextables.pipeline.job import job
from lextables.tasks.job import from_rule

with job(snakemake.log[0]):
    action = import_module(f"lextables.tasks.{snakemake.params.job['module']}")
    action.run(from_rule(snakemake))
