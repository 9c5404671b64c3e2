# Sources: published files, checked against the registry.
#
#   in    resources/sources.yaml and `sources` of the papers' files; resources/sample, or the mirror folders and
#         then the registered URLs
#   out   {RESULTS}/sources/<source>/<file>        the file
#         {RESULTS}/sources/<source>/<file>.json   its variant, origin and licence
#
# An interrupted download leaves <file>.part; the next attempt resumes it.


# What the target `fetch` downloads; each .smk file adds what it reads.
FETCHED = []  # paths of files
FETCHED_WEIGHTS = []  # settings of weights that belong to no run


# Fetch one file: from a folder of the config key `mirror`, or else from its URLs.
rule fetch_source:
    output:
        file=f"{RESULTS}/sources/{{source}}/{{file}}",
        provenance=f"{RESULTS}/sources/{{source}}/{{file}}.json",
    log:
        f"{RESULTS}/logs/sources/{{source}}/{{file}}.log",
    wildcard_constraints:
        # Registered names only: x.json can be a file, and x.json.json its provenance.
        source="|".join(PROJECT.sources),
        file=SOURCE_PARAMS.file_pattern(),
    retries: 1  # the second attempt resumes the download
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        # The files that register sources, with their addresses and digests.
        registries=source_files(PROJECT.papers),
        # The variants of the file that the config key `data` allows, such as a sample.
        variants=SOURCE_PARAMS.variants,
        # Only to run the job again: the registered digests of the file, and the digest
        # of its content in the mirror or in {RESULTS}/sources.
        pins=SOURCE_PARAMS.pins,
        content=SOURCE_PARAMS.content,
    message:
        "Fetching {wildcards.file} of {wildcards.source}, from a mirror or else from its URLs."
    script:
        "../scripts/fetch_source.py"
