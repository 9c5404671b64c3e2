# The review: a user's contract with the clauses that a model finds.
#
#   in    the contract in the config; a run that reads contracts, and its weights
#   out   {RESULTS}/review/<contract>.html, .csv
#   steps contract + model + precision of its marks in the test contracts -> review

from lextables.planning.review import ReviewJobs

# The entry `review` of a paper's file: the data set `of` whose models review contracts,
# which of its models do, and when a span is shown.
REVIEW_ENTRY = PROJECT.review
# Inputs and params of the rules.  The reviewer is the run whose model reads the
# contract.
REVIEWS = ReviewJobs(JOBS, REVIEW_ENTRY)
# `snakemake review --config contract=path.txt`.  The review is named after the
# contract's file and a digest of its content, so that contracts with the same file name
# do not collide.
REVIEW = f"{RESULTS}/review/{{contract}}"


# The target `review`.
rule review:
    input:
        REVIEWS.page,
    message:
        "Done: open {input} in a browser."


# Precision of a model's marks in the test contracts.  {RUN} is the folder of the run
# that predicted them.
rule review_marks:
    input:
        predictions=REVIEWS.predictions,
        data=PROJECT.tables(REVIEW_ENTRY.of, "questions", "answers"),
    output:
        f"{RUN}/marks.parquet",
    log:
        f"{RESULTS}/logs/{{dataset}}/marks/{{experiment}}/{{model}}/{{condition}}/seed{{seed}}.log",
    wildcard_constraints:
        dataset=REVIEW_ENTRY.of,
        experiment="read",
    conda:
        ENVIRONMENT
    params:
        # The fingerprint of the script and its modules: a change runs the job again.
        code=code("review_marks.py"),
        run=REVIEWS.run_folder,  # {RUN}, with the wildcards' values
        # The digest of the run's record, if another configuration made the run.
        record=REVIEWS.record,
        # A mark is a span whose probability is above `minimum`.  In the category
        # `relaxed` it is also correct if it contains the answer.
        minimum=REVIEW_ENTRY.minimum,
        relaxed=PROJECT.tasks[REVIEW_ENTRY.of].relaxed,
    message:
        "Computing the precision of {wildcards.model}'s marks in the test contracts."
    script:
        "../scripts/review_marks.py"


# The review itself: the answers of the same model for the user's contract, marked in
# its text.
rule review_contract:
    input:
        # The record, predictions, scores and weights of the reviewer; none if another
        # configuration made it.
        reviewer=REVIEWS.reviewer_files,
        marks=REVIEWS.marks,  # the output of the rule above
        data=PROJECT.tables(REVIEW_ENTRY.of, "questions", "categories"),
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
        code=code("review_contract.py"),
        # The path of the contract.  It is no input, because it may have characters that
        # are special in Snakemake.  The unused argument `output` keeps Snakemake from
        # comparing it: the output's name has the digest of the content.
        contract=lambda wildcards, output: CONFIG.contract,
        run=REVIEWS.reviewer_folder,
        # The folder of the weights; "" for a model that is loaded as published.
        weights=REVIEWS.weights,
        record=REVIEWS.record,  # as above
        review=REVIEW_ENTRY.model_dump(mode="json"),
        device=PROJECT.job_device,
    message:
        "Highlighting the categories in {wildcards.contract}, with the model of {params.run}."
    script:
        "../scripts/review_contract.py"
