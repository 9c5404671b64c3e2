# The released LawngNLI, from the authors' two ID files and the opinions they name, in
# the format of the data set that lawngnli.smk builds.
#
#   in    {RESULTS}/sources/lawngnli_ids/*.xz, {RESULTS}/sources/caselaw/<shard>.json
#   out   {RESULTS}/data/lawngnli/examples.parquet, long_premises.parquet, unfiltered.parquet, census.json
#   steps rows of the ID file -> volumes of these cases -> opinions and hypotheses -> premises, counts of Table 2
#
# Included by lawngnli.smk with lawngnli_data=released, instead of the rule
# lawngnli_examples.  That file defines LAWNGNLI (the shards of case law and the
# settings of the parser), LAWNGNLI_DATA, LAWNGNLI_SHARD (folders) and parser_settings;
# the other names are from common.smk.  Param `code` is the fingerprint of a script and
# its modules: a change runs the job again.

from lextables.papers.lawngnli.construction import released_masks

LAWNGNLI_IDS = f"{RESULTS}/sources/lawngnli_ids"


# The rows of the ID file, and a list of the cases that they name.
rule lawngnli_released_rows:
    input:
        f"{LAWNGNLI_IDS}/LawngNLI_minus_case_text.xz",
    output:
        rows=f"{LAWNGNLI_DATA}/released/rows.parquet",
        cases=f"{LAWNGNLI_DATA}/released/cases.json",
    log:
        f"{RESULTS}/logs/lawngnli/released_rows.log",
    conda:
        ENVIRONMENT
    params:
        code=code("lawngnli_released_rows.py"),
    message:
        "Reading the rows of the authors' ID file."
    script:
        "../scripts/lawngnli_released_rows.py"


# The named opinions of a shard, and contradictions of the hypotheses that come from it.
rule lawngnli_released_shard:
    input:
        rows=f"{LAWNGNLI_DATA}/released/rows.parquet",
        # The record of the shard's volumes, which are in its folder.
        volumes=f"{RESULTS}/sources/caselaw/{{shard}}.json",
    output:
        cases=f"{LAWNGNLI_SHARD}/cases.parquet",
        hypotheses=f"{LAWNGNLI_SHARD}/hypotheses.parquet",
    log:
        f"{RESULTS}/logs/lawngnli/released/{{shard}}.log",
    conda:
        ENVIRONMENT
    params:
        code=code("lawngnli_released_shard.py"),
        # A function, because it reads the parser's files for their digest.
        parser=lambda wildcards: parser_settings(LAWNGNLI, PROJECT.contents),
    message:
        "Reading the listed opinions of {wildcards.shard} and generating contradictions of their hypotheses."
    script:
        "../scripts/lawngnli_released_shard.py"


# The finished data set, from the files of all shards.
rule lawngnli_released:
    input:
        rows=f"{LAWNGNLI_DATA}/released/rows.parquet",
        cases=expand(f"{LAWNGNLI_SHARD}/cases.parquet", shard=LAWNGNLI.shards),
        hypotheses=expand(f"{LAWNGNLI_SHARD}/hypotheses.parquet", shard=LAWNGNLI.shards),
        # The authors' filter file, if it is available.
        masks=released_masks(CONFIG, PROJECT.sources, ROOT),
        # For the census: the provenance of the ID file and of the volumes, and the
        # reports on the opinions.
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
    conda:
        ENVIRONMENT
    params:
        code=code("lawngnli_released.py"),
        # The name of the parser that was used.
        parser=LAWNGNLI.parser["model"],
        # The registered parsers, of which the first is the paper's.
        parsers=PROJECT.papers["lawngnli"].parsers,
        # The digest of the published values.  Their file is no input: its path depends
        # on the project's location, and moving the project must not rerun trainings.
        published_digest=content_of([PROJECT_PATH / "resources/published/lawngnli.csv"]),
    message:
        "Cutting the released premises and comparing the counts with Table 2."
    script:
        "../scripts/lawngnli_released.py"
