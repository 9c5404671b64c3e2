# Tables: published next to reproduced values; one rule for all papers.
#
#   in    resources/published/<paper>.csv, the data sets' census; scores, units and records of the runs of a table;
#         a user's file named in the config, if the table shows it
#   out   {RESULTS}/tables/<paper>/<table>.csv, .md, .html, .comparison.csv (which rows differ); for a figure also .svg
#   steps scores -> cells -> verdicts -> csv, md, html; units -> pairs -> comparison.csv


# Only existing papers and tables, so that a misspelt file name is not reported as an error of the rule.
SHOWN = {name for paper in CONFIG.papers for name in PAPERS[paper].tables}


wildcard_constraints:
    paper=any_of(CONFIG.papers),


if not CONFIG.submit_small_jobs:

    localrules:
        table,
        figure,


include: "functions/tables.smk"


TABLE_INPUTS = {
    "published": str(PROJECT_PATH / "resources/published/{paper}.csv"),
    "census": lambda wildcards: f"{RESULTS}/data/{table_data(wildcards)}/census.json",
    "beside": table_beside,
    "paper": lambda wildcards: PAPER_FILES[wildcards.paper],
    "scores": of_runs("scores.parquet"),
    # Contribution of each unit to the scores, for comparing rows.
    "units": of_runs("units.parquet"),
    "records": of_runs("run.json"),
    "readings": table_readings,
    "file": table_file,
}
TABLE_PARAMS = {
    "root": lambda wildcards, input: input.census.split("/data/")[0],
    "rows": lambda wildcards, input: table_rows(wildcards),
    "words": lambda wildcards, input: source_words(wildcards.paper),
    "absent": table_absent,
    "rows_digest": lambda wildcards: digest_of(table_rows(wildcards)),
    "sources_digest": lambda wildcards: digest_of(source_words(wildcards.paper)),
    "files_digest": table_content,
    "script": "table",
    "code": table_code,
}


use rule base as table with:
    input:
        **TABLE_INPUTS,
    output:
        csv=f"{RESULTS}/tables/{{paper}}/{{table}}.csv",
        comparison=f"{RESULTS}/tables/{{paper}}/{{table}}.comparison.csv",
        md=f"{RESULTS}/tables/{{paper}}/{{table}}.md",
        html=f"{RESULTS}/tables/{{paper}}/{{table}}.html",
    log:
        f"{RESULTS}/logs/table/{{paper}}/{{table}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/table/{{paper}}/{{table}}.tsv"
    wildcard_constraints:
        table=any_of(name for name in SHOWN if not name.startswith("figure")),
    params:
        **TABLE_PARAMS,
    message:
        "Comparing {wildcards.table} of {wildcards.paper} with the published one."


use rule table as figure with:
    output:
        csv=f"{RESULTS}/tables/{{paper}}/{{table}}.csv",
        comparison=f"{RESULTS}/tables/{{paper}}/{{table}}.comparison.csv",
        md=f"{RESULTS}/tables/{{paper}}/{{table}}.md",
        html=f"{RESULTS}/tables/{{paper}}/{{table}}.html",
        svg=f"{RESULTS}/tables/{{paper}}/{{table}}.svg",
    log:
        f"{RESULTS}/logs/figure/{{paper}}/{{table}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/figure/{{paper}}/{{table}}.tsv"
    wildcard_constraints:
        table=any_of(name for name in SHOWN if name.startswith("figure")),
    params:
        **TABLE_PARAMS,


# The named targets <paper> and <paper>_<table>.
for paper in CONFIG.papers:

    rule:
        name:
            paper
        input:
            table_files(paper),

    for table in PAPERS[paper].tables:

        rule:
            name:
                f"{paper}_{table}"
            input:
                [
                    f"{RESULTS}/tables/{paper}/{table}.{kind}"
                    for kind in table_kinds(table)
                ],
