# Input functions of the review of a user's contract.


@cache
def contract_reviewer():
    """The run whose model reads the contract."""
    return reviewer.choose(CONFIG, PAPERS["cuad"], PLANS["cuad"], RESULTS)


@cache
def review_of_contract():
    """The name of the review.  The contract is read, so that an unreadable file fails before any training."""
    if not CONFIG.contract:
        raise BadInput(
            "contract is empty",
            where="config",
            do="name a file, as in --config contract=path.txt",
        )
    # Imported here: the readers of pdf and Word files are needed for a review only.
    from lextables.papers.cuad.contract_text import read_contract

    read_contract(CONFIG.contract)
    contract_reviewer()
    return reviewer.review_name(CONFIG.contract)


def review_page(wildcards):
    """The page of the review of the config's contract."""
    return f"{RESULTS}/review/{review_of_contract()}.html"


def reviewer_files(wildcards):
    """The files of the reviewer's run; none if it was made under another configuration."""
    if wildcards.contract != review_of_contract():
        raise BadInput(
            f"{wildcards.contract} is not the review of {CONFIG.contract}",
            where="config",
            do="run the target review, which has the name of the config's contract",
        )
    chosen = contract_reviewer()
    return [f"{RESULTS}/{path}" for path in chosen.files] if chosen.planned else []


def planned_predictions(wildcards):
    """The predictions of a planned run; none if it was made under another configuration."""
    run = run_of(wildcards)
    return [f"{RESULTS}/{run.folder}/predictions.parquet"] if run in SPECS else []
