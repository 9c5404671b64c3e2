# The released LawngNLI: the authors' two ID files and the opinions that they name, as the built data set's files.
#
#   in    {RESULTS}/sources/lawngnli_ids/*.xz, {RESULTS}/sources/caselaw/<shard>.json
#   out   {RESULTS}/data/lawngnli/examples.parquet, long_premises.parquet, unfiltered.parquet, census.json
#   steps rows of the ID file -> volumes with a named case -> opinions and hypotheses -> premises, Table 2's counts

LAWNGNLI_IDS = f"{RESULTS}/sources/lawngnli_ids"


use rule base as lawngnli_released_rows with:
    input:
        f"{LAWNGNLI_IDS}/LawngNLI_minus_case_text.xz",
    output:
        rows=f"{LAWNGNLI_DATA}/released/rows.parquet",
        cases=f"{LAWNGNLI_DATA}/released/cases.json",
    log:
        f"{RESULTS}/logs/lawngnli/released_rows.log",
    benchmark:
        f"{RESULTS}/benchmarks/lawngnli/released_rows.tsv"
    params:
        **script_params("lawngnli_released_rows"),
    message:
        "Reading the rows of the authors' ID file."


use rule base as lawngnli_released_shard with:
    input:
        rows=f"{LAWNGNLI_DATA}/released/rows.parquet",
        volumes=f"{RESULTS}/sources/caselaw/{{shard}}.json",
    output:
        cases=f"{LAWNGNLI_SHARD}/cases.parquet",
        hypotheses=f"{LAWNGNLI_SHARD}/hypotheses.parquet",
    log:
        f"{RESULTS}/logs/lawngnli/released/{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/lawngnli/released/{{shard}}.tsv"
    params:
        **script_params("lawngnli_released_shard"),
        parser=parser_settings,
    message:
        "Reading the named opinions of {wildcards.shard} and contradicting the hypotheses that are from them."


use rule base as lawngnli_released with:
    input:
        rows=f"{LAWNGNLI_DATA}/released/rows.parquet",
        cases=expand(f"{LAWNGNLI_SHARD}/cases.parquet", shard=LAWNGNLI.shards),
        hypotheses=expand(f"{LAWNGNLI_SHARD}/hypotheses.parquet", shard=LAWNGNLI.shards),
        masks=released_masks(),
        ids=f"{LAWNGNLI_IDS}/LawngNLI_minus_case_text.xz.json",
        volumes=[f"{RESULTS}/sources/caselaw/{shard}.json" for shard in LAWNGNLI.shards],
        opinions=[f"{RESULTS}/data/caselaw/{shard}.json" for shard in LAWNGNLI.shards],
    output:
        examples=f"{LAWNGNLI_DATA}/examples.parquet",
        long_premises=f"{LAWNGNLI_DATA}/long_premises.parquet",
        unfiltered=f"{LAWNGNLI_DATA}/unfiltered.parquet",
        census=f"{LAWNGNLI_DATA}/census.json",
    log:
        f"{RESULTS}/logs/lawngnli/released.log",
    benchmark:
        f"{RESULTS}/benchmarks/lawngnli/released.tsv"
    params:
        **script_params("lawngnli_released"),
        parser=LAWNGNLI.parser["found"],
        parsers=PAPERS["lawngnli"].parsers,
        # No input: its path depends on where the project is, and another place must not trigger trainings.
        published_digest=content_of([PROJECT_PATH / "resources/published/lawngnli.csv"]),
    message:
        "Cutting the released premises and comparing the counts with Table 2's."
