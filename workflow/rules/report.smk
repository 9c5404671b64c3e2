# The report: every table and figure on one page, opened from disk with no network.
#
#   in    the tables and figures, the data sets' census, the record of every run, the effective config
#   out   {RESULTS}/report/index.html, which links to the tables' files by relative paths

REPORT = RESULTS + "/report/index.html"


localrules:
    report,


rule report:
    input:
        config=RESULTS + "/config.yaml",
        papers=[PAPER_FILES[paper] for paper in CONFIG.papers],
        census=[f"{RESULTS}/data/{paper}/census.json" for paper in CONFIG.papers],
        tables=[path for paper in CONFIG.papers for path in table_files(paper)],
        runs=sorted(
            f"{RESULTS}/{run.folder}/run.json" for paper in CONFIG.papers for run in PLANS[paper].specs
        ),
    output:
        REPORT,
    log:
        RESULTS + "/logs/report.log",
    benchmark:
        RESULTS + "/benchmarks/report.tsv"
    conda:
        ENVIRONMENT
    params:
        root=RESULTS,
        code=code("lextables.tables.report", script="report.py"),
    message:
        "Putting every table and figure on one page."
    script:
        "../scripts/report.py"
