# CUAD's review: a user's contract, with what its models find.
#
#   in    the contract that the config names; a run that reads contracts, and the weights that it read
#   out   {RESULTS}/review/<contract>.html, .csv
#   steps a user's contract + a model + what it marks in the test contracts -> review

from functools import cache

from lextables.papers.cuad import reviewer
from lextables.papers.cuad.registry import DATA as REVIEWED_DATA
from lextables.papers.cuad.asking import name_of as review_name

# A user's contract: `snakemake review --config contract=path.txt`.  Its name and a digest of what is in it are
# the review's, so that two contracts of one name have two.
REVIEWED = review_name(CONFIG.contract)
REVIEW = f"{RESULTS}/review/{REVIEWED}"


include: "functions/cuad.smk"


rule review:
    input:
        f"{REVIEW}.html",
    message:
        "Done: open {input} in a browser."


# How much of what a model marks is right, from its reading of the test contracts.
rule cuad_marks:
    input:
        predictions=planned_predictions,
        data=data(REVIEWED_DATA, "questions", "answers"),
    output:
        f"{RUN}/marks.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/marks/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/{{dataset}}/marks/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.tsv"
    wildcard_constraints:
        dataset=REVIEWED_DATA,
        experiment="read",
    conda:
        ENVIRONMENT
    params:
        run=lambda wildcards: f"{RESULTS}/{run_of(wildcards).folder}",
        record=lambda wildcards: contract_reviewer().record,
        minimum=PAPERS["cuad"].review_minimum,
        relaxed=TASKS[REVIEWED_DATA].relaxed,
        code=code("cuad_marks.py"),
    message:
        "Counting what {wildcards.model} marks in the test contracts, and how much of it is right."
    script:
        "../scripts/cuad_marks.py"


rule cuad_review:
    input:
        contract=contract,
        reviewer=reviewer_files,
        marks=lambda wildcards: f"{RESULTS}/{contract_reviewer().run.folder}/marks.parquet",
        data=data(REVIEWED_DATA, "questions", "categories"),
    output:
        html=f"{REVIEW}.html",
        csv=f"{REVIEW}.csv",
        predictions=f"{REVIEW}.parquet",
    log:
        f"{RESULTS}/logs/review/{REVIEWED}.log",
    benchmark:
        f"{RESULTS}/benchmarks/review/{REVIEWED}.tsv"
    conda:
        ENVIRONMENT
    threads: MODEL_THREADS
    resources:
        **ON_GPU,
        mem_mb=per_attempt(8000),
        runtime=per_attempt(60),
    params:
        run=lambda wildcards: f"{RESULTS}/{contract_reviewer().run.folder}",
        weights=lambda wildcards: contract_reviewer().weights(RESULTS),
        record=lambda wildcards: contract_reviewer().record,
        minimum=PAPERS["cuad"].review_minimum,
        device=CONFIG.device,
        code=code("cuad_review.py"),
    message:
        "Highlighting the 41 categories in {input.contract}, with the model of {params.run}."
    script:
        "../scripts/cuad_review.py"
