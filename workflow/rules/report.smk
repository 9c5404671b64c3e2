# The report: a static site with a page for every table, run and data set.  It needs no
# server and no network.
#
#   in    the tables and figures, the data sets' census, the record of every run, the effective config;
#         and files of earlier runs in {RESULTS}, which the site shows but does not rebuild
#   out   {RESULTS}/report/, replaced when the new site is complete; the start page is index.html
#         {RESULTS}/page/, docs/results.md with its figure and README.md with its summary, for the repository; not part of `all`
#         {RESULTS}/config.yaml, the effective configuration
#   steps tables, data sets and runs -> pages; tables -> counts of verdicts -> results page
#
# Snakemake does not compare a param that is a function of the input or output.  So long
# params are such functions, and each has a param `..._digest`, which reruns the rule
# when the content changes.  (Param `code`, the fingerprint of a script and its modules,
# has the same purpose.)  `root` has none: a moved results folder reruns nothing.
# `files_digest` is that of the papers' files: the rule reruns if their content changes,
# whatever their modification times.

from lextables.planning.report import Report

# Inputs and params of the two rules.  Inputs are `config` ({RESULTS}/config.yaml), the
# `papers`' files, their `published` values, `tables`, the records of `runs`, the
# `census` of each paper's own data set, and under `data` those of the others.
SITE = Report(PROJECT, TABLES)
# Written last.  Snakemake deletes the outputs of a rule before it runs, so the site
# itself is not an output.
REPORT = f"{RESULTS}/report/.complete"


# The site.
rule report:
    input:
        **SITE.inputs,
    output:
        REPORT,
    log:
        f"{RESULTS}/logs/report.log",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        # With the modules of papers that add sections to their page.
        code=code("report.py", *SITE.modules),
        root=lambda wildcards, input: input.config.rpartition("/")[0],  # {RESULTS}
        # {paper: licences, citations and notes on its sources}, from the registry.
        source_texts=lambda wildcards, input: TABLES.source_texts,
        source_texts_digest=lambda wildcards: digest_of(TABLES.source_texts),
        # {file in {RESULTS} that another configuration made: its digest}.
        earlier=lambda wildcards, input: SITE.earlier,
        earlier_digest=lambda wildcards: digest_of(SITE.earlier),
        # Folders of the runs of additional rows.
        own_rows=lambda wildcards, input: SITE.own_rows,
        own_rows_digest=lambda wildcards: digest_of(SITE.own_rows),
        # {folder of a run: the training data of its model, in words}.
        trained_on=lambda wildcards, input: SITE.trained_on,
        trained_on_digest=lambda wildcards: digest_of(SITE.trained_on),
        files_digest=lambda wildcards: content_of(PROJECT.paper_files.values()),
    message:
        "Writing the report: a page for every table, run and data set."
    script:
        "../scripts/report.py"


# The results page of the documentation, and README with its summary.
rule results_page:
    input:
        **SITE.inputs,
        readme=str(PROJECT_PATH / "README.md"),
    output:
        page=f"{RESULTS}/page/docs/results.md",
        picture=f"{RESULTS}/page/docs/results.svg",
        readme=f"{RESULTS}/page/README.md",
    log:
        f"{RESULTS}/logs/results_page.log",
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        # `root` and `source_texts` are those of the report.
        code=code("results_page.py"),
        root=lambda wildcards, input: input.config.rpartition("/")[0],
        source_texts=lambda wildcards, input: TABLES.source_texts,
        source_texts_digest=lambda wildcards: digest_of(TABLES.source_texts),
        files_digest=lambda wildcards: content_of(PROJECT.paper_files.values()),
        # Folders of the runs of baselines.
        baselines=lambda wildcards, output: SITE.baselines,
        baselines_digest=lambda wildcards: digest_of(SITE.baselines),
        # {folder of a published row's run: the names of its systems}.
        systems=lambda wildcards, output: SITE.systems,
        systems_digest=lambda wildcards: digest_of(SITE.systems),
        # {paper: {table: {why published rows are not run: what they need}}}.
        needs=lambda wildcards, output: SITE.needs,
        needs_digest=lambda wildcards: digest_of(SITE.needs),
    message:
        "Writing the results page: copy {RESULTS}/page into the repository to publish it."
    script:
        "../scripts/results_page.py"


# The configuration with its defaults, as this run uses it.
rule effective_config:
    output:
        f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/effective_config.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        config=CONFIG.model_dump(mode="json"),
    message:
        "Saving the effective configuration."
    script:
        "../scripts/effective_config.py"
