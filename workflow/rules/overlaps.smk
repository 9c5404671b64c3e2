# Overlaps: how much text the splits of all data sets of the chosen papers share (docs/overlaps.md).
#
#   in    {RESULTS}/data/<data set>/*.parquet, the tables with texts that resources/papers/<paper>.yaml names in `texts`
#   out   {RESULTS}/overlaps/overlaps.csv, .svg, .html: shares by pair of splits; units.parquet: the units of each pair
#   steps texts -> hashed runs of words -> runs in common -> words and units

OVERLAPS = {
    name: texts.model_dump()
    for paper in CONFIG.papers
    for name, texts in PAPERS[paper].texts.items()
    if name not in ABSENT
}


rule overlaps:
    input:
        f"{RESULTS}/overlaps/overlaps.html",


use rule base as shared_texts with:
    input:
        [f"{RESULTS}/data/{name}/census.json" for name in OVERLAPS],
        tables=[
            f"{RESULTS}/data/{name}/{table}.parquet"
            for name, texts in OVERLAPS.items()
            for table in filter(None, (texts["table"], texts["splits"]))
        ],
    output:
        csv=f"{RESULTS}/overlaps/overlaps.csv",
        svg=f"{RESULTS}/overlaps/overlaps.svg",
        html=f"{RESULTS}/overlaps/overlaps.html",
        units=f"{RESULTS}/overlaps/units.parquet",
    log:
        f"{RESULTS}/logs/overlaps.log",
    benchmark:
        f"{RESULTS}/benchmarks/overlaps.tsv"
    resources:
        mem_mb=per_attempt(4000),
    params:
        **script_params("overlaps"),
        data=lambda wildcards, output: f"{output.csv.rpartition('/overlaps/')[0]}/data",
        texts=OVERLAPS,
    message:
        "Comparing the texts of all data sets."
