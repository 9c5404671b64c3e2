# What the review of a user's contract reads.


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
    from lextables.papers.cuad.contract_text import read_contract

    read_contract(CONFIG.contract)
    contract_reviewer()
    return CONFIG.contract


def reviewer_files(wildcards):
    """What the reviewer's run makes; nothing for one that stands there from another configuration."""
    contract(wildcards)
    chosen = contract_reviewer()
    return [f"{RESULTS}/{path}" for path in chosen.files] if chosen.planned else []


def planned_predictions(wildcards):
    """The predictions of a run that the rules make; nothing for one that another configuration left."""
    run = run_of(wildcards)
    return [f"{RESULTS}/{run.folder}/predictions.parquet"] if run in SPECS else []
