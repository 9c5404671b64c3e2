# Input functions of the review of a user's contract.


@cache
def contract_reviewer():
    """The run whose model reads the contract."""
    return reviewer.choose(CONFIG, PAPERS["cuad"], PLANS["cuad"], RESULTS)


def contract(wildcards):
    """The user's contract."""
    return checked_contract()


@cache
def checked_contract():
    """The user's contract.  It is read here, so that an unreadable file fails before any training."""
    if not CONFIG.contract:
        raise BadInput(
            "contract is empty", where="config", do="name a file, as in --config contract=path.txt"
        )
    # Imported here: the readers of pdf and Word files are needed for a review only.
    from lextables.papers.cuad.contract_text import read_contract

    read_contract(CONFIG.contract)
    contract_reviewer()
    return CONFIG.contract


def reviewer_files(wildcards):
    """The files of the reviewer's run; none if it was made under another configuration."""
    checked_contract()
    chosen = contract_reviewer()
    return [f"{RESULTS}/{path}" for path in chosen.files] if chosen.planned else []


def planned_predictions(wildcards):
    """The predictions of a planned run; none if it was made under another configuration."""
    run = run_of(wildcards)
    return [f"{RESULTS}/{run.folder}/predictions.parquet"] if run in SPECS else []
