# Overlaps: how much text the splits of all data sets of the chosen papers share
# (docs/overlaps.md).
#
#   in    {RESULTS}/data/<data set>/*.parquet, the tables listed under `texts` in resources/papers/<paper>.yaml,
#         and the contracts of edgar_quarters; existing runs of headline tables
#   out   {RESULTS}/overlaps/overlaps.csv, .svg, .html: shares by pair of splits; units.parquet: the units of each pair;
#         facts.csv: the shares between published data; scores.csv: headline scores on test units without overlap;
#         labels.csv: relevance of a retrieval data set and labels of a spans data set with the same texts
#   steps texts -> hashed word n-grams -> shared n-grams -> words and units -> scores without these units


from lextables.planning.overlaps import Overlaps

OVERLAPS = Overlaps(PROJECT)


rule overlaps:
    input:
        f"{RESULTS}/overlaps/overlaps.html",


rule shared_texts:
    input:
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
        code=code("overlaps.py"),
        data=lambda wildcards, output: f"{output.csv.rpartition('/overlaps/')[0]}/data",
        texts=OVERLAPS.texts,
        relevance=OVERLAPS.relevance,
    message:
        "Comparing the texts of all data sets."
    script:
        "../scripts/overlaps.py"


# Runs are not inputs: existing ones are used, and none is made for this page.
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
        code=code("overlaps_page.py", *OVERLAPS.modules),
        root=lambda wildcards, output: output.html.rpartition("/overlaps/")[0],
        benchmarks=lambda wildcards, output: OVERLAPS.benchmarks,
        benchmarks_digest=lambda wildcards: digest_of(OVERLAPS.benchmarks),
        runs_digest=lambda wildcards: OVERLAPS.scores_digest(),
    message:
        "Scoring the runs of {RESULTS} on the test units without overlap."
    script:
        "../scripts/overlaps_page.py"
