# Sources: published files, checked against the registry.
#
#   in    resources/sources.yaml and `sources` of the papers' files; resources/sample, or the mirror folders and
#         then the registered URLs
#   out   {RESULTS}/sources/<source>/<file>        the file
#         {RESULTS}/sources/<source>/<file>.json   its variant, origin and licence
#
# An interrupted download leaves <file>.part; the next attempt resumes it.


if not CONFIG.submit_small_jobs:

    localrules:
        fetch_source,


include: "functions/sources.smk"


# What the target `fetch` downloads: files (each .smk file adds those that it reads), and the settings of weights that
# belong to no run.
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
        # Registered names only: x.json can be a file, and x.json.json its provenance.
        source="|".join(SOURCES),
        file="|".join(
            sorted(
                {
                    sources.file_regex(name)
                    for entry in SOURCES.values()
                    for name in entry.files
                }
            )
        ),
    retries: 1
    params:
        script="fetch_source",
        registries=SOURCE_REGISTRIES,
        variants=source_variants,
        pins=source_pins,
        content=source_content,
    message:
        "Fetching {wildcards.file} of {wildcards.source}, from a mirror or else from its URLs."
