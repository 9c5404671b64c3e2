# Tables: published next to reproduced values; one rule for all papers.
#
#   in    resources/published/<paper>.csv, the data sets' census; scores, units and records of the runs of a table;
#         a user's file named in the config, if the table shows it
#   out   {RESULTS}/tables/<paper>/<table>.csv, .md, .html, .comparison.csv (which rows differ); for a figure also .svg
#   steps scores -> cells -> verdicts -> csv, md, html; units -> pairs -> comparison.csv


from lextables.planning.tables import Tables

TABLES = Tables(PROJECT)


wildcard_constraints:
    paper=any_of(CONFIG.papers),


rule table:
    input:
        published=TABLES.published,
        census=TABLES.census,
        beside=TABLES.beside,
        paper=TABLES.registry,
        scores=TABLES.of_runs("scores.parquet"),
        # Contribution of each unit to the scores, for comparing rows.
        units=TABLES.of_runs("units.parquet"),
        records=TABLES.of_runs("run.json"),
        readings=TABLES.readings,
        file=TABLES.user_file,
    output:
        csv=f"{RESULTS}/tables/{{paper}}/{{table}}.csv",
        comparison=f"{RESULTS}/tables/{{paper}}/{{table}}.comparison.csv",
        md=f"{RESULTS}/tables/{{paper}}/{{table}}.md",
        html=f"{RESULTS}/tables/{{paper}}/{{table}}.html",
    log:
        f"{RESULTS}/logs/table/{{paper}}/{{table}}.log",
    wildcard_constraints:
        # Only existing tables, so that a misspelt file name is not reported as an error
        # of the rule.
        table=any_of(TABLES.names("table")),
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    params:
        code=lambda wildcards: fingerprint_of("table.py", *TABLES.modules(wildcards)),
        root=lambda wildcards, input: input.census.split("/data/")[0],
        rows=lambda wildcards, input: TABLES.rows(wildcards),
        source_texts=lambda wildcards, input: TABLES.source_texts[wildcards.paper],
        absent=TABLES.absent,
        rows_digest=lambda wildcards: digest_of(TABLES.rows(wildcards)),
        sources_digest=lambda wildcards: digest_of(TABLES.source_texts[wildcards.paper]),
        files_digest=TABLES.content,
    message:
        "Comparing {wildcards.table} of {wildcards.paper} with the published one."
    script:
        "../scripts/table.py"


use rule table as figure with:
    output:
        csv=f"{RESULTS}/tables/{{paper}}/{{table}}.csv",
        comparison=f"{RESULTS}/tables/{{paper}}/{{table}}.comparison.csv",
        md=f"{RESULTS}/tables/{{paper}}/{{table}}.md",
        html=f"{RESULTS}/tables/{{paper}}/{{table}}.html",
        svg=f"{RESULTS}/tables/{{paper}}/{{table}}.svg",
    log:
        f"{RESULTS}/logs/figure/{{paper}}/{{table}}.log",
    wildcard_constraints:
        table=any_of(TABLES.names("figure")),
    localrule: SMALL_JOBS_ARE_LOCAL


# The named targets <paper> and <paper>_<table>.
for paper in CONFIG.papers:

    rule:
        name:
            paper
        input:
            TABLES.files(paper),

    for table in PROJECT.papers[paper].tables:

        rule:
            name:
                f"{paper}_{table}"
            input:
                TABLES.files_of(paper, table),
