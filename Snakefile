# lextables: five legal-NLP papers, from raw sources to result tables.
#
#   snakemake --cores 4                     everything in config.yaml, ending in results/*/report/index.html
#   snakemake --cores 4 acord               all tables of one paper
#   snakemake --cores 4 acord_table_d3      one table
#   snakemake --cores 4 data|tables|check   data sets with their census | tables | tables, then a summary
#
# source -> data set -> run -> predictions -> scores -> table -> report: each arrow is a kind of rule.


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/acord.smk"
include: "workflow/rules/edgar.smk"
include: "workflow/rules/cuad.smk"
include: "workflow/rules/maud.smk"
include: "workflow/rules/spans.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"


if LAWNGNLI:

    include: "workflow/rules/caselaw.smk"
    include: "workflow/rules/lawngnli.smk"


rule all:
    default_target: True
    input:
        REPORT,
    message:
        "Done: open {input} in a browser."


rule data:
    input:
        [f"{RESULTS}/data/{paper}/census.json" for paper in CONFIG.papers],


rule tables:
    input:
        [path for paper in CONFIG.papers for path in table_files(paper)],


rule check:
    input:
        rules.data.input,
        rules.tables.input,
    log:
        f"{RESULTS}/logs/check.log",
    conda:
        ENVIRONMENT
    params:
        tables=rules.tables.input,
    script:
        "workflow/scripts/check.py"


include: "workflow/rules/driver.smk"
