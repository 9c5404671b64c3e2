# Predictions that a user has already: checked against the data set, and then scored as any run's are.
#
#   in    the files that the config key extra_predictions names, {RESULTS}/data/{dataset}/...
#   out   {RESULTS}/runs/{dataset}/given/own-<name>/..., which the scoring rule of the task reads
#   steps a TREC run, n-best JSON, csv or JSON lines -> predictions.parquet


localrules:
    given,


include: "functions/submitted.smk"


use rule base_run as given with:
    input:
        data=given_data,
    wildcard_constraints:
        dataset=any_of(TASKS),
        experiment="given",
    resources:
        mem_mb=per_attempt(4000),
    params:
        task=given_task,
        script="submitted",
        code=given_code,
    message:
        "Checking the predictions of {wildcards.model} for {wildcards.dataset} (seed {wildcards.seed})."
