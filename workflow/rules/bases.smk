# Rules that other rules inherit from (`use rule base as … with:`).  None of them has a job of its own: no file
# matches their wildcard constraint.


rule base:
    output:
        f"{RESULTS}/{{base}}",
    log:
        f"{RESULTS}/logs/{{base}}.log",
    wildcard_constraints:
        base="(?!)",
    conda:
        ENVIRONMENT
    script:
        "../scripts/{params.script}.py"


use rule base as base_run with:
    output:
        predictions=f"{RUN}/predictions.parquet",
        record=f"{RUN}/run.json",
    log:
        f"{RUN}/log.txt",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="(?!)",
    params:
        settings=settings,


use rule base_run as base_model_run with:
    threads: MODEL_THREADS
    resources:
        **model_job(run_work()),
    params:
        device=CONFIG.device,


use rule base_model_run as base_training with:
    output:
        weights=directory(f"{RUN}/weights"),
        record=f"{RUN}/run.json",
    params:
        work=work,


use rule base_model_run as base_asking with:
    resources:
        **asking_job(720, run_work()),
    params:
        asking=ASKING,


use rule base as base_choice with:
    output:
        f"{run_folder(seed=0)}/run.json",
    log:
        f"{RESULTS}/logs/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/{{experiment}}/{{model}}/{{condition}}.tsv"
    wildcard_constraints:
        experiment="(?!)",
    params:
        settings=settings,


use rule base as base_score with:
    output:
        scores=f"{RUN}/scores.parquet",
        units=f"{RUN}/units.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/score/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        experiment="(?!)",
