# The report: a static site with a page for every table, run and data set.  It needs no server and no network.
#
#   in    the tables and figures, the data sets' census, the record of every run, the effective config;
#         and files of earlier runs in {RESULTS}, which are shown but not rebuilt
#   out   {RESULTS}/report/, replaced when the new site is complete; the start page is index.html
#         {RESULTS}/page/, docs/results.md with its figure and README.md with its summary, for the repository; not part of `all`
#         {RESULTS}/config.yaml, the effective configuration


include: "functions/report.smk"


# Written last.  Snakemake deletes the outputs of a rule before it runs, so the site itself is not an output.
REPORT = f"{RESULTS}/report/.complete"
REPORTED = {
    "config": f"{RESULTS}/config.yaml",
    "papers": list(PAPER_FILES.values()),
    "census": [f"{RESULTS}/data/{paper}/census.json" for paper in CONFIG.papers],
    "data": sorted(
        {
            f"{RESULTS}/data/{name}/census.json"
            for paper in CONFIG.papers
            for name in shown_data(paper)
        }
        - {f"{RESULTS}/data/{paper}/census.json" for paper in CONFIG.papers}
    ),
    "tables": [path for paper in CONFIG.papers for path in table_files(paper)],
    "runs": sorted(
        f"{RESULTS}/{run.folder}/run.json"
        for paper in CONFIG.papers
        for run in PLANS[paper].specs
    ),
}


# Modules of paper packages with additional sections below their tables.
EXHIBITS = [
    name for paper in PAPER_FILES for name in package_modules(paper, "exhibits")
]


localrules:
    effective_config,


if not CONFIG.submit_small_jobs:

    localrules:
        report,
        results_page,


use rule base as report with:
    input:
        **REPORTED,
    output:
        REPORT,
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    params:
        **script_params("report", *EXHIBITS),
        root=lambda wildcards, input: input.config.rpartition("/")[0],
        words=lambda wildcards, input: {
            paper: source_words(paper) for paper in PAPER_FILES
        },
        earlier=lambda wildcards, input: of_earlier_runs(),
        trained_on=lambda wildcards, input: trained_on_by_run(),
        trained_on_digest=lambda wildcards: digest_of(trained_on_by_run()),
        sources_digest=digest_of({paper: source_words(paper) for paper in PAPER_FILES}),
        earlier_digest=lambda wildcards: digest_of(of_earlier_runs()),
        files_digest=content_of(PAPER_FILES.values()),
    message:
        "Writing the report: a page for every table, run and data set."


use rule report as results_page with:
    input:
        **REPORTED,
        readme=str(PROJECT_PATH / "README.md"),
    output:
        page=f"{RESULTS}/page/docs/results.md",
        picture=f"{RESULTS}/page/docs/results.svg",
        readme=f"{RESULTS}/page/README.md",
    log:
        f"{RESULTS}/logs/results_page.log",
    benchmark:
        f"{RESULTS}/benchmarks/results_page.tsv"
    params:
        **script_params("results_page"),
        baselines=lambda wildcards, output: baseline_runs(),
        needs=lambda wildcards, output: needed_by_rows(),
        baselines_digest=lambda wildcards: digest_of(baseline_runs()),
        needs_digest=lambda wildcards: digest_of(needed_by_rows()),
    message:
        "Writing the results page: copy {RESULTS}/page into the repository to publish it."


use rule base as effective_config with:
    output:
        f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/effective_config.log",
    benchmark:
        f"{RESULTS}/benchmarks/effective_config.tsv"
    params:
        script="effective_config",
        config=CONFIG.model_dump(mode="json"),
    message:
        "Saving the effective configuration."
