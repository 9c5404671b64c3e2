"""Do the action of a task that the rule's param `job` names, such as training or
scoring.

All rules of runs.smk and features.smk have this script.  The actions are modules of
lextables/tasks/<task>/actions, and <task>/submitted.py.  The param `job` has the name
of the module and what it is given (`tasks.job.Job`).
"""

from importlib import import_module

from lextables.pipeline.job import job
from lextables.tasks.job import from_rule

with job(snakemake.log[0]):
    action = import_module(f"lextables.tasks.{snakemake.params.job['module']}")
    this_job = from_rule(snakemake)
    action.run(this_job)
    this_job.record_weights()
