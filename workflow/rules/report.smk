# The report: every table and figure on one page, opened from disk with no network.
#
#   in    the tables and figures, the data sets' census, the record of every run, the effective config;
#         and what earlier runs left in {RESULTS}, which is shown and never made again
#   out   {RESULTS}/report/index.html, which links to the tables' files by relative paths
#         {RESULTS}/config.yaml, the effective configuration

from lextables.tables.report import left_over

REPORT = f"{RESULTS}/report/index.html"
REPORTED = {
    "config": f"{RESULTS}/config.yaml",
    "papers": list(PAPER_FILES.values()),
    "census": [f"{RESULTS}/data/{paper}/census.json" for paper in CONFIG.papers],
    "tables": [path for paper in CONFIG.papers for path in table_files(paper)],
    "runs": sorted(
        f"{RESULTS}/{run.folder}/run.json" for paper in CONFIG.papers for run in PLANS[paper].specs
    ),
}


localrules:
    effective_config,
    report,


rule report:
    input:
        **REPORTED,
    output:
        REPORT,
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    conda:
        ENVIRONMENT
    params:
        root=lambda wildcards, input: input.config.rpartition("/")[0],
        words={paper: source_words(paper) for paper in PAPER_FILES},
        # Of the wildcards alone: a function that asks for the input gives a param that is not compared.
        earlier=lambda wildcards: left_over(
            RESULTS, [*REPORTED["census"], *REPORTED["tables"], *REPORTED["runs"]]
        ),
        code=code("report.py"),
    message:
        "Putting every table and figure on one page."
    script:
        "../scripts/report.py"


rule effective_config:
    output:
        f"{RESULTS}/config.yaml",
    log:
        f"{RESULTS}/logs/effective_config.log",
    benchmark:
        f"{RESULTS}/benchmarks/effective_config.tsv"
    conda:
        ENVIRONMENT
    params:
        config=CONFIG.model_dump(mode="json"),
    message:
        "Writing down the effective configuration."
    script:
        "../scripts/effective_config.py"
