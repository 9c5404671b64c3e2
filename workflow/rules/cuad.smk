# CUAD's review: a user's contract, with what its models find.
#
#   in    the contract that the config names; a run that reads contracts, and the weights that it read
#   out   {RESULTS}/review/<contract>.html, .csv
#   steps a user's contract + a model -> review

from functools import cache

from lextables.cuad import reviewer
from lextables.cuad.registry import DATA as REVIEWED_DATA
from lextables.cuad.review import name_of as review_name

# A user's contract: `snakemake review --config contract=path.txt`.  Its name and a digest of what is in it are
# the review's, so that two contracts of one name have two.
REVIEWED = review_name(CONFIG.contract)
REVIEW = f"{RESULTS}/review/{REVIEWED}"


@cache
def contract_reviewer():
    """The run whose model reads a user's contract, chosen once."""
    return reviewer.choose(CONFIG, PAPERS["cuad"], PLANS["cuad"], RESULTS)


def contract(wildcards):
    """A user's contract: read before anything is made, so that no training is for a bad one."""
    if not CONFIG.contract:
        raise BadInput(
            "contract is empty", where="config", do="name a file, as in --config contract=path.txt"
        )
    # What reads pdf and Word files is loaded for a review alone.
    from lextables.cuad.contract_text import read_contract

    read_contract(CONFIG.contract)
    contract_reviewer()
    return CONFIG.contract


def reviewer_files(wildcards):
    """What the reviewer's run makes; nothing for one that stands there from another configuration."""
    contract(wildcards)
    chosen = contract_reviewer()
    return [f"{RESULTS}/{path}" for path in chosen.files] if chosen.planned else []


rule review:
    input:
        f"{REVIEW}.html",
    message:
        "Done: open {input} in a browser."


rule cuad_review:
    input:
        contract=contract,
        reviewer=reviewer_files,
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
    threads: 4
    resources:
        gpu=MODEL_GPU,
        mem_mb=8000,
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
