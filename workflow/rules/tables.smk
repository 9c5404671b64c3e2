# Tables: what was published next to what was reproduced, one rule for all papers.
#
#   in    resources/published/<paper>.csv, the data sets' census, scores and records of the runs that a table shows
#   out   {RESULTS}/tables/<paper>/<table>.csv, .md, .html; for a figure also .svg
#   steps scores -> cells -> verdicts -> csv, md, html


# Papers and tables that there are, or a slip in a file's name would be a fault of the rule.
SHOWN = {name for paper in PAPERS.values() for name in paper.tables}


wildcard_constraints:
    paper="|".join(PAPERS),


TABLE_INPUTS = {
    "published": str(HERE / "resources/published/{paper}.csv"),
    "census": f"{RESULTS}/data/{{paper}}/census.json",
    "paper": lambda wildcards: PAPER_FILES[wildcards.paper],
    "scores": table_scores,
    "records": table_records,
    "readings": table_readings,
}


rule table:
    input:
        **TABLE_INPUTS,
    output:
        csv=f"{RESULTS}/tables/{{paper}}/{{table}}.csv",
        md=f"{RESULTS}/tables/{{paper}}/{{table}}.md",
        html=f"{RESULTS}/tables/{{paper}}/{{table}}.html",
    log:
        f"{RESULTS}/logs/table/{{paper}}/{{table}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/table/{{paper}}/{{table}}.tsv"
    wildcard_constraints:
        table="|".join(sorted(name for name in SHOWN if not name.startswith("figure"))),
    conda:
        ENVIRONMENT
    params:
        root=lambda wildcards, input: input.census.split("/data/")[0],
        rows=table_rows,
        words=lambda wildcards: source_words(wildcards.paper),
        code=table_code,
    message:
        "Setting {wildcards.table} of {wildcards.paper} beside the published one."
    script:
        "../scripts/table.py"


use rule table as figure with:
    output:
        csv=f"{RESULTS}/tables/{{paper}}/{{table}}.csv",
        md=f"{RESULTS}/tables/{{paper}}/{{table}}.md",
        html=f"{RESULTS}/tables/{{paper}}/{{table}}.html",
        svg=f"{RESULTS}/tables/{{paper}}/{{table}}.svg",
    log:
        f"{RESULTS}/logs/figure/{{paper}}/{{table}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/figure/{{paper}}/{{table}}.tsv"
    wildcard_constraints:
        table="|".join(sorted(name for name in SHOWN if name.startswith("figure"))),
    params:
        root=lambda wildcards, input: input.census.split("/data/")[0],
        rows=table_rows,
        words=lambda wildcards: source_words(wildcards.paper),
        code=table_code,


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
                [f"{RESULTS}/tables/{paper}/{table}.{kind}" for kind in table_kinds(table)],
