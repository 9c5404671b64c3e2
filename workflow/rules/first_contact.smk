# First contact: fetch and read every source of the planned papers, and run no model.
#
#   in    resources/sources.yaml and the papers' files; a mirror, or the registered addresses
#   out   {RESULTS}/sources/...; {RESULTS}/first_contact/<data set>/, parquet and census.json
#         {RESULTS}/first_contact/sources.csv, one line for each source: read, or why not
#
# One job reads all sources, because a job that fails would stop the others.  It has no
# declared output, so the target always runs; files that were fetched before are used
# again.


rule first_contact:
    log:
        f"{RESULTS}/logs/first_contact.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        registries=source_files(PROJECT.papers),
        papers=CONFIG.papers,
        folder=f"{RESULTS}/first_contact",
        sources=f"{RESULTS}/sources",
        # One volume of case law, the first; none if no planned paper uses case law.
        volume=next((volumes[0] for volumes in SHARDS.values()), ""),
    message:
        "Fetching and reading every source; a source that fails does not stop the others."
    script:
        "../scripts/first_contact.py"
