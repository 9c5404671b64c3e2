# Exports: data sets and predictions in the formats of other tools, with cards and metadata (docs/exports.md).
#
#   in    the data sets' tables and census, predictions and scores of the runs that tables show, the registries
#   out   {RESULTS}/publish/<export>/    one for each paper, and for each data set that its file sets apart
#         {RESULTS}/publish/printed/     what all papers printed, one tidy csv
#         {RESULTS}/publish/results/     the tables as records of other collections, and capsules.csv


include: "functions/publish.smk"


EXPORTS = exports()
PUBLISH = f"{RESULTS}/publish"


localrules:
    printed,
    records,


use rule base as export with:
    input:
        census=export_census,
        predictions=export_files("predictions.parquet"),
        scores=export_files("scores.parquet"),
    output:
        # The folder appears whole, with the tables, which the census names, and the forms of the runs.
        card=f"{PUBLISH}/{{export}}/README.md",
        croissant=f"{PUBLISH}/{{export}}/croissant.json",
        licence=f"{PUBLISH}/{{export}}/LICENSE.md",
        citation=f"{PUBLISH}/{{export}}/CITATION.bib",
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
        words=lambda wildcards, output: source_words(EXPORTS[wildcards.export][0]),
        paper_digest=lambda wildcards: digest_of(export_about(wildcards)),
        rows_digest=lambda wildcards: digest_of(export_rows(wildcards.export)),
        sources_digest=lambda wildcards: digest_of(source_words(EXPORTS[wildcards.export][0])),
        command=lambda wildcards: (
            f".venv/bin/snakemake --cores 4 publish --config data={CONFIG.data} models={CONFIG.models} "
            f"papers='[{EXPORTS[wildcards.export][0]}]'"
        ),
    message:
        "Putting {wildcards.export} into the forms that other tools read."


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


use rule base as records with:
    input:
        [path for paper in CONFIG.papers for path in table_files(paper) if is_table(path)],
    output:
        directory(f"{PUBLISH}/results"),
    log:
        f"{RESULTS}/logs/publish/records.log",
    benchmark:
        f"{RESULTS}/benchmarks/publish/records.tsv"
    params:
        **script_params("publish_records"),
        papers={paper: record_texts(paper) for paper in CONFIG.papers},
        config=CONFIG.model_dump(mode="json"),
        results=lambda wildcards, output: output[0].rpartition("/publish/")[0],
    message:
        "Writing the tables as records of other collections."


rule publish:
    input:
        expand(f"{PUBLISH}/{{export}}/README.md", export=EXPORTS),
        rules.printed.output,
        rules.records.output,
