# Download everything that jobs would need a network for, so that they can run on nodes
# without a network.
#
#   in    {RESULTS}/sources/... of every data set of the papers; the hub models of every planned run
#   out   no files in the results, only models in the hub's cache (HF_HOME): the target always checks them


from lextables.planning.sources import hub_weights


rule fetch:
    input:
        # The other .smk files add paths to this list, and settings to FETCHED_WEIGHTS.
        FETCHED,
    log:
        f"{RESULTS}/logs/fetch.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        weights=hub_weights(PROJECT, FETCHED_WEIGHTS),
    message:
        "Downloading the weights of all planned models into the hub's cache."
    script:
        "../scripts/fetch.py"
