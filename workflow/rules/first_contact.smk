# First contact: fetch and read every source of the planned papers, and run no model.
#
#   in    resources/sources.yaml and the papers' files; a mirror, or the registered addresses
#   out   {RESULTS}/sources/...; {RESULTS}/first_contact/<data set>/, parquet and census.json
#         {RESULTS}/first_contact/sources.csv, one line for each source: read, or why not
#
# One job reads all sources, because a job that fails would stop the others.  It has no
# declared output, so the target always runs; files that were fetched before are used
# again.


# The target `first_contact`.
rule first_contact:
    log:
        f"{RESULTS}/logs/first_contact.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        # The files that register sources, with their addresses and digests.
        registries=source_files(PROJECT.papers),
        papers=CONFIG.papers,
        folder=f"{RESULTS}/first_contact",  # for the data sets and sources.csv
        sources=f"{RESULTS}/sources",  # for the published files
        # One volume of case law, the first; "" if no planned paper uses case law.
        # SHARDS is {shard of case law: its volumes}.
        volume=next((volumes[0] for volumes in SHARDS.values()), ""),
    message:
        "Fetching and reading every source; a source that fails does not stop the others."
    script:
        "../scripts/first_contact.py"
