# The plan: what the run would take that the same command without `plan` would start (docs/reference.md).
#
#   in    Snakemake's own graph of jobs, after a dry run has made it; resources/costs, the model of cost
#   out   {RESULTS}/plan/plan.csv, jobs.csv; no job is ever started, and no rule makes these


include: "functions/plan.smk"


localrules:
    plan,


rule plan:
    input:
        planned,
