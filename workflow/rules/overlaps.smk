# Overlaps: how much text the splits of all data sets of the chosen papers share
# (docs/overlaps.md).
#
#   in    {RESULTS}/data/<data set>/*.parquet, the tables listed under `texts` in resources/papers/<paper>.yaml,
#         and the contracts of edgar_quarters; existing runs of headline tables
#   out   {RESULTS}/overlaps/overlaps.csv, .svg, .html: shares by pair of splits; units.parquet: the units of each pair;
#         facts.csv: the shares between published data; scores.csv: headline scores on test units without overlap;
#         labels.csv: relevance of a retrieval data set and labels of a spans data set with the same texts
#   steps texts -> hashed word n-grams -> shared n-grams -> words and units -> scores without these units
#
# Snakemake does not compare a param that is a function of the output.  Such params have
# a param `..._digest`, which reruns the rule when the content changes.  (`data` and
# `root` have no digest: a moved results folder reruns nothing.)

from lextables.planning.overlaps import Overlaps

OVERLAPS = Overlaps(PROJECT)


# The target `overlaps`.
rule overlaps:
    input:
        f"{RESULTS}/overlaps/overlaps.html",


# The words and units that each pair of splits shares.
rule shared_texts:
    input:
        # The tables of all data sets that have texts, relevance or labels.
        OVERLAPS.files,
    output:
        csv=f"{RESULTS}/overlaps/overlaps.csv",
        facts=f"{RESULTS}/overlaps/facts.csv",
        labels=f"{RESULTS}/overlaps/labels.csv",
        units=f"{RESULTS}/overlaps/units.parquet",
    log:
        f"{RESULTS}/logs/overlaps.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        # The fingerprint of the script and its modules: a change runs the job again.
        code=code("overlaps.py"),
        # The folder {RESULTS}/data.
        data=lambda wildcards, output: f"{output.csv.rpartition('/overlaps/')[0]}/data",
        # Which columns of which tables are texts, from the papers' files.
        texts=OVERLAPS.texts,
        # Retrieval data sets with the texts of a spans data set.
        relevance=OVERLAPS.relevance,
    message:
        "Comparing the texts of all data sets."
    script:
        "../scripts/overlaps.py"


# The page, with scores on the test units without overlap.  Runs are not inputs:
# existing ones are used, and none is made for this page.
rule overlaps_page:
    input:
        csv=f"{RESULTS}/overlaps/overlaps.csv",
        labels=f"{RESULTS}/overlaps/labels.csv",
        units=f"{RESULTS}/overlaps/units.parquet",
    output:
        svg=f"{RESULTS}/overlaps/overlaps.svg",
        html=f"{RESULTS}/overlaps/overlaps.html",
        scores=f"{RESULTS}/overlaps/scores.csv",
    log:
        f"{RESULTS}/logs/overlaps_page.log",
    conda:
        ENVIRONMENT
    resources:
        mem_mb=per_attempt(4000),
    params:
        # With the modules of tables and tasks, which the script imports by computed
        # names.
        code=code("overlaps_page.py", *OVERLAPS.modules),
        # The folder {RESULTS}.
        root=lambda wildcards, output: output.html.rpartition("/overlaps/")[0],
        # The headline tables, with their runs.
        benchmarks=lambda wildcards, output: OVERLAPS.benchmarks,
        benchmarks_digest=lambda wildcards: digest_of(OVERLAPS.benchmarks),
        # The scores of the runs that exist: no inputs, but new ones rerun the page.
        runs_digest=lambda wildcards: OVERLAPS.scores_digest(),
    message:
        "Scoring the runs of {RESULTS} on the test units without overlap."
    script:
        "../scripts/overlaps_page.py"
