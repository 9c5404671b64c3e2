# All that jobs would need a network for, fetched first: on a machine that has one, for nodes that have none.
#
#   in    {RESULTS}/sources/..., of every data set of the papers; the hub's models of every planned run
#   out   nothing but the models in the hub's cache (HF_HOME), so it looks again whenever it is asked


localrules:
    fetch,


include: "functions/fetch.smk"


rule fetch:
    input:
        FETCHED,
    log:
        f"{RESULTS}/logs/fetch.log",
    conda:
        ENVIRONMENT
    params:
        weights=hub_weights(),
    message:
        "Fetching the weights of all planned models into the hub's cache."
    script:
        "../scripts/fetch.py"
