# Sources: the published bytes, checked against the registry.
#
#   in    resources/sources.yaml and what a paper's file brings; resources/sample, or the mirror folders and
#         then the registered addresses
#   out   {RESULTS}/sources/<source>/<file>        the bytes
#         {RESULTS}/sources/<source>/<file>.json   which variant they are, where they came from, the licence
#
# A transfer that is cut leaves <file>.part, from which the next attempt goes on.


localrules:
    fetch_source,


include: "functions/sources.smk"


# What the target fetch brings: the files, which each file of rules adds that reads one, and the settings of weights
# that no run names.
FETCHED, FETCHED_WEIGHTS = [], []


use rule base as fetch_source with:
    output:
        file=f"{RESULTS}/sources/{{source}}/{{file}}",
        provenance=f"{RESULTS}/sources/{{source}}/{{file}}.json",
    log:
        f"{RESULTS}/logs/sources/{{source}}/{{file}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/sources/{{source}}/{{file}}.tsv"
    wildcard_constraints:
        # Registered names only: of x.json and x.json.json the first is a file and the second its provenance.
        source="|".join(SOURCES),
        file="|".join(
            sorted({sources.file_regex(name) for entry in SOURCES.values() for name in entry.files})
        ),
    retries: 1
    params:
        script="fetch_source",
        registries=SOURCE_REGISTRIES,
        variants=source_variants,
        pins=source_pins,
        content=source_content,
    message:
        "Fetching {wildcards.file} of {wildcards.source}: a mirror first, then its addresses."
