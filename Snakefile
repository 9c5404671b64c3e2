# lextables: five legal-NLP papers, from raw sources to result tables.
#
#   .venv/bin/snakemake --cores 4                     all papers in config.yaml, and results/*/report/index.html
#   .venv/bin/snakemake --cores 4 acord               all tables of one paper
#   .venv/bin/snakemake --cores 4 acord_table_d3      one table
#   .venv/bin/snakemake --cores 4 data|tables|check   data sets with their census | tables | tables and a summary
#   .venv/bin/snakemake plan [a target]               estimate without running: jobs, hours, disk, downloads
#   .venv/bin/snakemake --cores 4 fetch               download sources and weights, for machines without a network
#   .venv/bin/snakemake --cores 4 publish             data sets, predictions and weights for other tools
#
# Steps: source -> data set -> features -> run -> predictions -> scores -> table ->
# report.
#
# The rule files share their names.  CONFIG (the checked configuration), PROJECT (with
# the registries and the planned runs), RESULTS and ENVIRONMENT are from common.smk,
# TABLES is from tables.smk and REPORT from report.smk.


from pathlib import Path

# The project's folder.  It is not `workflow.basedir`: where another workflow uses this
# one as a module, that is the folder of the other workflow.
ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))


include: "workflow/rules/common.smk"
include: "workflow/rules/sources.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/edgar.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/runs.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/publish.smk"
include: "workflow/rules/overlaps.smk"


# Only if a paper of the config key `papers` has models that review a contract.
if PROJECT.review:

    include: "workflow/rules/review.smk"


# {shard of case law: its volumes}, filled by the rules of the paper that reads case
# law.
SHARDS = {}


# Rules of one paper, such as the construction of its data set, are in <paper>.smk.
for paper in CONFIG.papers:
    if (ROOT / f"workflow/rules/{paper}.smk").is_file():

        include: f"workflow/rules/{paper}.smk"


# The report, and so the tables that it shows.
rule all:
    default_target: True
    input:
        REPORT,


# All data sets with their census.
rule data:
    input:
        PROJECT.censuses(),


# All tables and figures.
rule tables:
    input:
        [path for paper in CONFIG.papers for path in TABLES.files(paper)],


# All data sets and tables, and the number of published values by verdict on the screen.
rule check:
    input:
        rules.data.input,
        rules.tables.input,
    log:
        f"{RESULTS}/logs/check.log",
    localrule: True
    conda:
        ENVIRONMENT
    params:
        tables=rules.tables.input,  # without the censuses among the inputs
        # {paper: the file of its published values}.
        published=lambda wildcards: TABLES.published_values,
    script:
        "workflow/scripts/check.py"


# These files use the rules and lists of the others.
include: "workflow/rules/rehearsal.smk"
include: "workflow/rules/plan.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/first_contact.smk"
include: "workflow/rules/driver.smk"
