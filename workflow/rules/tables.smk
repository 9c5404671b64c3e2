# Tables: published next to reproduced values; one rule for the tables of all papers, and
# one for their figures.
#
#   in    resources/published/<paper>.csv, the data sets' census; scores, units and records of the runs of a table;
#         a user's file named in the config, if the table shows it
#   out   {RESULTS}/tables/<paper>/<table>.csv, .md, .html, .comparison.csv (which rows differ); for a figure also .svg
#   steps scores -> cells -> verdicts -> csv, md, html; units -> pairs -> comparison.csv
#
# Snakemake does not compare a param that is a function of the input.  Such params are
# long; each has a param `..._digest`, which reruns the rule when the content changes.

from lextables.planning.tables import Tables

# Inputs and params of a table, by the wildcards {paper} and {table}.
TABLES = Tables(PROJECT)


wildcard_constraints:
    paper=any_of(CONFIG.papers),


# One table.
rule table:
    input:
        published=TABLES.published,
        census=TABLES.census,
        # The census of each other data set that the table shows.
        other_censuses=TABLES.other_censuses,
        # The census of each other data set that models of published rows learnt from.
        training_censuses=TABLES.training_censuses,
        # resources/papers/<paper>.yaml.
        paper=TABLES.registry,
        # The scores of the runs that the table shows.
        scores=TABLES.of_runs("scores.parquet"),
        # The contribution of each unit to these scores, for comparing rows.
        units=TABLES.of_runs("units.parquet"),
        records=TABLES.of_runs("run.json"),
        # Human readings of the data set (resources/readings).
        readings=TABLES.readings,
        # A file that the config names, such as ranks of websites.
        user_file=TABLES.user_file,
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
        # The fingerprint of the script, and of the modules of the paper and its tasks:
        # a change runs the job again.
        code=lambda wildcards: fingerprint_of("table.py", *TABLES.modules(wildcards)),
        # The next three params are functions of `input`, so that Snakemake does not
        # compare them; `rows` and `source_texts` have digests below.  `root` is the
        # folder {RESULTS}.
        root=lambda wildcards, input: input.census.rpartition("/data/")[0],
        # The planned rows, with their runs or the reason why there are none.
        rows=lambda wildcards, input: TABLES.rows(wildcards),
        # Licences, citations and notes from the registry.
        source_texts=lambda wildcards, input: TABLES.source_texts[wildcards.paper],
        # Other data sets of the table that are not available, with the reason.
        absent=TABLES.absent,
        rows_digest=lambda wildcards: digest_of(TABLES.rows(wildcards)),
        source_texts_digest=lambda wildcards: digest_of(
            TABLES.source_texts[wildcards.paper]
        ),
        # The digest of the published values, the paper's file, the readings and the
        # user's file.
        files_digest=TABLES.content,
    message:
        "Comparing {wildcards.table} of {wildcards.paper} with the published one."
    script:
        "../scripts/table.py"


# One figure: a table, and its picture.
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
    # Repeated, because `use rule` does not take it over from the rule `table`.
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
