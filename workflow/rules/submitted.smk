# Predictions that a user has already: checked against the data set, and then scored as any run's are.
#
#   in    the files that the config key extra_predictions names, {RESULTS}/data/{dataset}/...
#   out   {RESULTS}/runs/{dataset}/given/own-<name>/..., which the scoring rule of the task reads
#   steps a TREC run, n-best JSON, csv or JSON lines -> predictions.parquet


localrules:
    given,


include: "functions/submitted.smk"


GIVEN_RUN = run_folder("given")


rule given:
    input:
        data=given_data,
    output:
        predictions=f"{GIVEN_RUN}/predictions.parquet",
        record=f"{GIVEN_RUN}/run.json",
    log:
        f"{GIVEN_RUN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/given/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=any_of(TASKS),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        settings=of_run("given"),
        task=given_task,
        code=given_code,
    message:
        "Checking the predictions of {wildcards.model} for {wildcards.dataset} (seed {wildcards.seed})."
    script:
        "../scripts/submitted.py"
