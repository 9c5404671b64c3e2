# Submitted predictions of a user: checked against the data set, then scored like those of any run.
#
#   in    the files named by the config key extra_predictions, {RESULTS}/data/{dataset}/...
#   out   {RESULTS}/runs/{dataset}/given/own-<name>/..., read by the scoring rule of the task
#   steps a TREC run, n-best JSON, csv or JSON lines -> predictions.parquet

from lextables.planning.submitted_jobs import SubmittedJobs

SUBMITTED = SubmittedJobs(PROJECT)


rule given:
    input:
        data=SUBMITTED.tables,
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    wildcard_constraints:
        dataset=any_of(PROJECT.tasks),
        experiment="given",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        settings=RUNS.settings,
        task=SUBMITTED.task,
        code=SUBMITTED.code,
    message:
        "Checking the predictions of {wildcards.model} for {wildcards.dataset} (seed {wildcards.seed})."
    script:
        "../scripts/submitted.py"
