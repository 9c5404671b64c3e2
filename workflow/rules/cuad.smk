# CUAD's review: a user's contract with the clauses that a model finds.
#
#   in    the contract in the config; a run that reads contracts, and its weights
#   out   {RESULTS}/review/<contract>.html, .csv
#   steps contract + model + precision of its marks in the test contracts -> review

from lextables.papers.cuad import reviewer
from lextables.papers.cuad.registry import DATA as REVIEWED_DATA

# `snakemake review --config contract=path.txt`.  The review is named after the contract's file and a digest of its
# content, so that contracts with the same file name do not collide.
REVIEW = f"{RESULTS}/review/{{contract}}"


include: "functions/cuad.smk"


rule review:
    input:
        review_page,
    message:
        "Done: open {input} in a browser."


# Precision of a model's marks in the test contracts.
use rule base as cuad_marks with:
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
    params:
        **script_params("cuad_marks"),
        run=lambda wildcards: f"{RESULTS}/{run_of(wildcards).folder}",
        record=lambda wildcards: contract_reviewer().record,
        minimum=PAPERS["cuad"].review_minimum,
        relaxed=TASKS[REVIEWED_DATA].relaxed,
    message:
        "Computing the precision of {wildcards.model}'s marks in the test contracts."


use rule base as cuad_review with:
    input:
        reviewer=reviewer_files,
        marks=lambda wildcards: f"{RESULTS}/{contract_reviewer().run.folder}/marks.parquet",
        data=data(REVIEWED_DATA, "questions", "categories"),
    output:
        html=f"{REVIEW}.html",
        csv=f"{REVIEW}.csv",
        predictions=f"{REVIEW}.parquet",
    log:
        f"{RESULTS}/logs/review/{{contract}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/review/{{contract}}.tsv"
    wildcard_constraints:
        contract="[^/]+",
    threads: MODEL_THREADS
    resources:
        **gpu_job(minutes=60),
    params:
        **script_params("cuad_review"),
        # A param that depends on the output is not compared: the output's name has the content's digest.
        # The path is no input, because it may have characters that are special in Snakemake.
        contract=lambda wildcards, output: CONFIG.contract,
        run=lambda wildcards: f"{RESULTS}/{contract_reviewer().run.folder}",
        weights=lambda wildcards: contract_reviewer().weights(RESULTS),
        record=lambda wildcards: contract_reviewer().record,
        minimum=PAPERS["cuad"].review_minimum,
        device=CONFIG.device,
    message:
        "Highlighting the 41 categories in {wildcards.contract}, with the model of {params.run}."
