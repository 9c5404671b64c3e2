# Tables: what was published next to what was reproduced, one rule for all papers.
#
#   in    resources/published/<paper>.csv, the data sets' census, the scores of the runs that a table shows
#   out   {RESULTS}/tables/<paper>/<table>.csv, .md, .html; for a figure also .svg
#   steps scores -> cells -> verdicts -> csv, md, html


def table_files(paper):
    """Every file of every table and figure of a paper."""
    return [
        f"{RESULTS}/tables/{paper}/{name}.{kind}"
        for name in PAPERS[paper].tables
        for kind in table_kinds(name)
    ]


def table_kinds(name):
    return ["csv", "md", "html", "svg"] if name.startswith("figure") else ["csv", "md", "html"]


def table_scores(wildcards):
    """The scores of the runs that a table shows; none for tables made from the data sets alone."""
    return [
        f"{RESULTS}/{folder}/scores.parquet" for folder in PLANS[wildcards.paper].folders(wildcards.table)
    ]


def table_rows(wildcards):
    """The rows of a table that come from runs."""
    return PLANS[wildcards.paper].rows[wildcards.table]


def table_code(wildcards):
    room = f"lextables.{wildcards.paper}.tables"
    return code(room, "lextables.tables.render", "lextables.tables.figures", script="table.py")


TABLE_INPUTS = {
    "published": str(ROOT / "resources/published/{paper}.csv"),
    "census": RESULTS + "/data/{paper}/census.json",
    "paper": lambda wildcards: PAPER_FILES[wildcards.paper],
    "scores": table_scores,
}


rule table:
    input:
        **TABLE_INPUTS,
    output:
        csv=RESULTS + "/tables/{paper}/{table}.csv",
        md=RESULTS + "/tables/{paper}/{table}.md",
        html=RESULTS + "/tables/{paper}/{table}.html",
    log:
        RESULTS + "/logs/table/{paper}/{table}.log",
    benchmark:
        RESULTS + "/benchmarks/table/{paper}/{table}.tsv"
    wildcard_constraints:
        table=r"table\w+",
    conda:
        ENVIRONMENT
    params:
        root=RESULTS,
        rows=table_rows,
        code=table_code,
    message:
        "Setting {wildcards.table} of {wildcards.paper} beside the published one."
    script:
        "../scripts/table.py"


use rule table as figure with:
    output:
        csv=RESULTS + "/tables/{paper}/{table}.csv",
        md=RESULTS + "/tables/{paper}/{table}.md",
        html=RESULTS + "/tables/{paper}/{table}.html",
        svg=RESULTS + "/tables/{paper}/{table}.svg",
    log:
        RESULTS + "/logs/figure/{paper}/{table}.log",
    benchmark:
        RESULTS + "/benchmarks/figure/{paper}/{table}.tsv"
    wildcard_constraints:
        table=r"figure\w+",
    params:
        root=RESULTS,
        rows=table_rows,
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
