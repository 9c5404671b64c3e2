# Exports: data sets, predictions and fine-tuned weights for other tools, with cards and metadata (docs/exports.md).
#
#   in    the data sets' tables and census, predictions and scores of the runs that tables show, the registries
#   out   {RESULTS}/publish/<export>/    one per paper, and one per data set that is published separately
#         {RESULTS}/publish/printed/     the published values of all papers, one tidy csv


include: "functions/publish.smk"


EXPORTS = exports()
PUBLISH = f"{RESULTS}/publish"
# Written last, like that of the report: an export that fails leaves the previous one as it is.
EXPORTED = f"{PUBLISH}/{{export}}/.complete"


if not CONFIG.submit_small_jobs:

    localrules:
        printed,


use rule base as export with:
    input:
        census=export_census,
        predictions=export_files("predictions.parquet"),
        scores=export_files("scores.parquet"),
        weights=lambda wildcards: export_weights(wildcards.export),
    output:
        EXPORTED,
    log:
        f"{RESULTS}/logs/publish/{{export}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/publish/{{export}}.tsv"
    wildcard_constraints:
        export=any_of(EXPORTS),
    resources:
        mem_mb=per_attempt(4000),
    params:
        **script_params("publish_export"),
        about=lambda wildcards, output: export_about(wildcards),
        rows=lambda wildcards, output: [*export_rows(wildcards.export).values()],
        registry_texts=lambda wildcards, output: source_words(
            EXPORTS[wildcards.export][0]
        ),
        paper_digest=lambda wildcards: digest_of(export_about(wildcards)),
        rows_digest=lambda wildcards: digest_of(export_rows(wildcards.export)),
        sources_digest=lambda wildcards: digest_of(
            source_words(EXPORTS[wildcards.export][0])
        ),
        command=lambda wildcards: (
            f".venv/bin/snakemake --cores 4 publish --config data={CONFIG.data} models={CONFIG.models} "
            f"papers='[{EXPORTS[wildcards.export][0]}]'"
        ),
    message:
        "Exporting {wildcards.export} to the formats of other tools."


use rule base as printed with:
    input:
        published=[
            str(PROJECT_PATH / f"resources/published/{name}.csv")
            for name in PAPER_FILES
        ],
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
        "Exporting the published values of all papers."


rule publish:
    input:
        expand(EXPORTED, export=EXPORTS),
        rules.printed.output,
