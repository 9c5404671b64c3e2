# The plan: time, disk space and cost of the command without `plan` (docs/reference.md).
#
#   in    Snakemake's graph of jobs in a dry run; resources/costs, measured costs
#   out   {RESULTS}/plan/plan.csv, jobs.csv; written without running any job or rule
#   steps jobs of the graph -> records of earlier jobs like them -> sums by paper and table

from lextables.planning.estimate import Estimates, targets_of_plan

ESTIMATES = Estimates(JOBS, SHARDS)  # SHARDS: {shard of case law: its volumes}


# A target without output: its inputs are the targets to estimate, and driver.smk writes
# the plan of a dry run.
rule plan:
    input:
        lambda wildcards: targets_of_plan(RUN_OF_SNAKEMAKE, rules.all.input),
    localrule: True
