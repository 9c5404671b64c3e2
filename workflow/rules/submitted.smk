# Submitted predictions of a user: checked against the data set, then scored like those of any run.
#
#   in    the files named by the config key extra_predictions, {RESULTS}/data/{dataset}/...
#   out   {RESULTS}/runs/{dataset}/given/own-<name>/..., read by the scoring rule of the task
#   steps a TREC run, n-best JSON, csv or JSON lines -> predictions.parquet


if not CONFIG.submit_small_jobs:

    localrules:
        given,


include: "functions/submitted.smk"


use rule base_run as given with:
    input:
        data=submitted_data,
    wildcard_constraints:
        dataset=any_of(TASKS),
        experiment="given",
    resources:
        mem_mb=per_attempt(4000),
    params:
        task=submitted_task,
        script="submitted",
        code=submitted_code,
    message:
        "Checking the predictions of {wildcards.model} for {wildcards.dataset} (seed {wildcards.seed})."
