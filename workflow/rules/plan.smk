# The plan: time, disk space and cost of the command without `plan` (docs/reference.md).
#
#   in    Snakemake's graph of jobs in a dry run; resources/costs, measured costs
#   out   {RESULTS}/plan/plan.csv, jobs.csv; written without running any job or rule


include: "functions/plan.smk"


localrules:
    plan,


rule plan:
    input:
        planned,
