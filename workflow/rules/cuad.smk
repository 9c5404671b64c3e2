# CUAD's review: a user's contract with the clauses that a model finds.
#
#   in    the contract in the config; a run that reads contracts, and its weights
#   out   {RESULTS}/review/<contract>.html, .csv
#   steps contract + model + precision of its marks in the test contracts -> review

from lextables.papers.cuad.registry import DATA as REVIEWED_DATA
from lextables.papers.cuad.review_jobs import ReviewJobs

REVIEWS = ReviewJobs(JOBS)
# `snakemake review --config contract=path.txt`.  The review is named after the
# contract's file and a digest of its content, so that contracts with the same file name
# do not collide.
REVIEW = f"{RESULTS}/review/{{contract}}"


rule review:
    input:
        REVIEWS.page,
    message:
        "Done: open {input} in a browser."


# Precision of a model's marks in the test contracts.  {RUN} is the folder of the run
# that predicted them.
rule cuad_marks:
    input:
        predictions=REVIEWS.predictions,
        data=PROJECT.tables(REVIEWED_DATA, "questions", "answers"),
    output:
        f"{RUN}/marks.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/marks/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    wildcard_constraints:
        dataset=REVIEWED_DATA,
        experiment="read",
    conda:
        ENVIRONMENT
    params:
        code=lambda wildcards: fingerprint_of("cuad_marks.py"),
        run=REVIEWS.run_folder,
        record=REVIEWS.record,
        minimum=PROJECT.papers["cuad"].review_minimum,
        relaxed=PROJECT.tasks[REVIEWED_DATA].relaxed,
    message:
        "Computing the precision of {wildcards.model}'s marks in the test contracts."
    script:
        "../scripts/cuad_marks.py"


# The review itself: the answers of the same model for the user's contract, marked in
# its text.
rule cuad_review:
    input:
        reviewer=REVIEWS.reviewer_files,
        marks=REVIEWS.marks,
        data=PROJECT.tables(REVIEWED_DATA, "questions", "categories"),
    output:
        html=f"{REVIEW}.html",
        csv=f"{REVIEW}.csv",
        predictions=f"{REVIEW}.parquet",
    log:
        f"{RESULTS}/logs/review/{{contract}}.log",
    wildcard_constraints:
        contract="[^/]+",
    conda:
        ENVIRONMENT
    threads: RESOURCES.model_threads
    resources:
        **RESOURCES.of_small_model(minutes=60),
    params:
        code=lambda wildcards: fingerprint_of("cuad_review.py"),
        # A param that depends on the output is not compared: the output's name has the
        # content's digest. The path is no input, because it may have characters that
        # are special in Snakemake.
        contract=lambda wildcards, output: CONFIG.contract,
        run=REVIEWS.reviewer_folder,
        weights=REVIEWS.weights,
        record=REVIEWS.record,
        minimum=PROJECT.papers["cuad"].review_minimum,
        device=CONFIG.device,
    message:
        "Highlighting the 41 categories in {wildcards.contract}, with the model of {params.run}."
    script:
        "../scripts/cuad_review.py"
