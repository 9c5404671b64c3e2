# Exports: data sets and predictions in the formats of other tools, with cards and metadata (docs/exports.md).
#
#   in    the data sets' tables and census, predictions and scores of the runs that tables show, the registries
#   out   {RESULTS}/publish/<bundle>/    one for each paper, and for each data set that its file sets apart
#         {RESULTS}/publish/printed/     what all papers printed, one tidy csv


include: "functions/publish.smk"


BUNDLES = bundles()
PUBLISH = f"{RESULTS}/publish"


localrules:
    printed,


use rule base as bundle with:
    input:
        census=bundle_census,
        predictions=bundle_files("predictions.parquet"),
        scores=bundle_files("scores.parquet"),
    output:
        # The folder appears whole, with the tables, which the census names, and the forms of the runs.
        card=f"{PUBLISH}/{{bundle}}/README.md",
        croissant=f"{PUBLISH}/{{bundle}}/croissant.json",
        licence=f"{PUBLISH}/{{bundle}}/LICENSE.md",
        citation=f"{PUBLISH}/{{bundle}}/CITATION.bib",
    log:
        f"{RESULTS}/logs/publish/{{bundle}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/publish/{{bundle}}.tsv"
    wildcard_constraints:
        bundle=any_of(BUNDLES),
    resources:
        mem_mb=per_attempt(4000),
    params:
        **script_params("publish_bundle"),
        about=lambda wildcards, output: bundle_about(wildcards),
        rows=lambda wildcards, output: [*bundle_rows(wildcards.bundle).values()],
        words=lambda wildcards, output: source_words(BUNDLES[wildcards.bundle][0]),
        paper_digest=lambda wildcards: digest_of(bundle_about(wildcards)),
        rows_digest=lambda wildcards: digest_of(bundle_rows(wildcards.bundle)),
        sources_digest=lambda wildcards: digest_of(source_words(BUNDLES[wildcards.bundle][0])),
        command=lambda wildcards: (
            f".venv/bin/snakemake --cores 4 publish --config data={CONFIG.data} models={CONFIG.models} "
            f"papers='[{BUNDLES[wildcards.bundle][0]}]'"
        ),
    message:
        "Putting {wildcards.bundle} into the forms that other tools read."


use rule base as printed with:
    input:
        published=[str(PROJECT_PATH / f"resources/published/{name}.csv") for name in PAPER_FILES],
    output:
        f"{PUBLISH}/printed/printed.csv",
    log:
        f"{RESULTS}/logs/publish/printed.log",
    benchmark:
        f"{RESULTS}/benchmarks/publish/printed.tsv"
    params:
        **script_params("publish_printed"),
        files_digest=lambda wildcards: content_of([*rules.printed.input]),
    message:
        "Gathering the published values."


rule publish:
    input:
        expand(f"{PUBLISH}/{{bundle}}/README.md", bundle=BUNDLES),
        rules.printed.output,
