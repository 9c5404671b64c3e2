# The plan: time, disk space and cost of the command without `plan` (docs/reference.md).
# The profiles make `snakemake plan` a dry run, so no job starts.
#
#   in    Snakemake's graph of jobs in a dry run; resources/costs, measured costs
#   out   {RESULTS}/plan/plan.csv, jobs.csv; written without running any job or rule
#   steps jobs of the graph -> records of earlier jobs like them -> sums by paper and table

from lextables.planning.estimate import Estimates, targets_of_plan

ESTIMATES = Estimates(JOBS, SHARDS)  # SHARDS: {shard of case law: its volumes}


# A target without output, which brings the jobs to estimate into Snakemake's graph.
# When the graph is complete, driver.smk writes and prints the plan.
rule plan:
    input:
        # The targets of `all`; none if the command names other targets besides `plan`.
        lambda wildcards: targets_of_plan(RUN_OF_SNAKEMAKE, rules.all.input),
    localrule: True
