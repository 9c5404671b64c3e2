# Download everything that jobs would need a network for, so that they can run on nodes
# without a network.
#
#   in    FETCHED: {RESULTS}/sources/... of every data set of the papers, and the contracts of EDGAR; the hub models of every planned run
#   out   no files in the results, only models in the hub's cache (HF_HOME): the target always checks them


from lextables.planning.sources import hub_weights


# The target `fetch`: the sources are its inputs, and its script fetches the weights.
rule fetch:
    input:
        # A list of sources and of EDGAR's quarters, which the other .smk files filled.
        FETCHED,
    log:
        f"{RESULTS}/logs/fetch.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        # The settings of the planned runs' weights on the hub, and of FETCHED_WEIGHTS:
        # those of models without runs, such as a parser, which the other files add.
        weights=hub_weights(PROJECT, FETCHED_WEIGHTS),
    message:
        "Downloading the weights of all planned models into the hub's cache."
    script:
        "../scripts/fetch.py"
