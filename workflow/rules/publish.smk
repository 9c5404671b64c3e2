# Exports: data sets, predictions and fine-tuned weights for other tools, with cards and
# metadata (docs/exports.md).
#
#   in    the data sets' tables and census, predictions and scores of the runs that tables show, the registries
#   out   {RESULTS}/publish/<export>/    one per paper, and one per data set that is published separately
#         {RESULTS}/publish/pushed/      with the config key push: addresses of uploaded exports
#         {RESULTS}/publish/printed/     the published values of all papers, one tidy csv
#   steps export: data sets, predictions and weights -> a folder for each export; push: folder -> model hub;
#         printed: published values -> csv
#
# Long params take `output`, so that Snakemake does not compare them with those of the
# last run.  In `export`, each has a param `..._digest`, which reruns the rule when the
# content changes; `push` follows its input, which holds the export's digest.  Param
# `code` is the fingerprint of a script and its modules, with the same purpose.


from lextables.planning.publish import Exports

# Exports by name; its functions give the inputs and params of the rules.
EXPORTS = Exports(PROJECT, TABLES)
PUBLISH = f"{RESULTS}/publish"
# The last file of an export.  Snakemake deletes the outputs of a rule before it runs,
# so the export itself is no output: one that fails leaves the previous one as it is.
# The file has the digest of the export, so that other content is uploaded again, also
# after a command without `push`.
EXPORTED = f"{PUBLISH}/{{export}}/.complete"


# One export: files for other tools, with a card.
rule export:
    input:
        # Files of the data sets, of the runs in the paper's tables, and of their
        # trainings.
        census=EXPORTS.census,
        predictions=EXPORTS.of_runs("predictions.parquet"),
        scores=EXPORTS.of_runs("scores.parquet"),
        weights=EXPORTS.weights,
    output:
        EXPORTED,
    log:
        f"{RESULTS}/logs/publish/{{export}}.log",
    wildcard_constraints:
        export=any_of(EXPORTS.of_name),
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        code=code("publish_export.py"),
        # What an export shows of the paper's file.
        about=lambda wildcards, output: EXPORTS.about(wildcards),
        # For each run of `predictions`, in the same order, the rows of tables that it
        # fills.
        rows=lambda wildcards, output: [*EXPORTS.rows(wildcards).values()],
        # Licences, citations and notes from the registry.
        source_texts=lambda wildcards, output: EXPORTS.source_texts(wildcards),
        about_digest=lambda wildcards: digest_of(EXPORTS.about(wildcards)),
        rows_digest=lambda wildcards: digest_of(EXPORTS.rows(wildcards)),
        source_texts_digest=lambda wildcards: digest_of(EXPORTS.source_texts(wildcards)),
        # The command that makes the export again, for its card.
        command=EXPORTS.command,
    message:
        "Exporting {wildcards.export} to the formats of other tools."
    script:
        "../scripts/publish_export.py"


# The values that the papers print.
rule printed:
    input:
        published=[PROJECT.published_values(name) for name in PROJECT.papers],
    output:
        f"{PUBLISH}/printed/printed.csv",
    log:
        f"{RESULTS}/logs/publish/printed.log",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=code("publish_printed.py"),
        # Runs the rule again if their content changes, whatever their modification
        # times.
        files_digest=lambda wildcards: content_of([*rules.printed.input]),
    message:
        "Exporting the published values of all papers."
    script:
        "../scripts/publish_printed.py"


# With the config key `push`: one repository for each export, on this machine, which has
# the network and the token.
rule push:
    input:
        exported=EXPORTED,
        census=EXPORTS.census,
    output:
        f"{PUBLISH}/pushed/{{export}}.txt",
    log:
        f"{RESULTS}/logs/publish/push_{{export}}.log",
    wildcard_constraints:
        export=any_of(EXPORTS.of_name),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        code=code("publish_push.py"),
        about=lambda wildcards, output: EXPORTS.about(wildcards),
        source_texts=lambda wildcards, output: EXPORTS.source_texts(wildcards),
        repository=lambda wildcards: f"{CONFIG.push}-{wildcards.export}",
    message:
        "Uploading the export {wildcards.export} to {params.repository}."
    script:
        "../scripts/publish_push.py"


# The target `publish`: all exports, and with the config key `push` their uploads.
rule publish:
    input:
        expand(EXPORTED, export=EXPORTS.of_name),
        rules.printed.output,
        expand(rules.push.output, export=EXPORTS.of_name if CONFIG.push else []),
