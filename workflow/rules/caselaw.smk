# Case law: the opinions of static.case.law, with the page on which each part of a text
# was printed.
#
# A shard is the group of volumes that one job reads: `us-436` has volume 436 of the
# U.S. Reports and the volumes after it, 10 by default.  One job for each volume would
# be 40,000 jobs for the whole corpus.  With bulk_export a shard is one file of the
# former bulk export.
#
#   in     VOLUMES and NAMED_CASES, which the paper's rules set before they include this file
#          (workflow/rules/lawngnli.smk):
#            VOLUMES.shards  {shard: its volumes, as <reporter>/<volume>, or its file of the bulk export}
#            NAMED_CASES     a file with case ids, if only volumes with one of these cases are needed; else []
#          caselaw/<reporter>/<volume>.zip in a folder of `mirror`, or at static.case.law (resources/sources.yaml)
#   out    {RESULTS}/sources/caselaw/<reporter>/<volume>.zip   the volumes as published (not with bulk_export)
#          {RESULTS}/sources/caselaw/<shard>.json              which volumes were fetched, with digest and origin
#          {RESULTS}/data/caselaw/<shard>.parquet              one row per opinion
#          {RESULTS}/data/caselaw/<shard>.json                 counts of opinions and of excluded cases
#   steps  1. caselaw_volumes   fetch the volumes of a shard
#          2. caselaw_opinions  read their cases, and write the opinions with the offset of each page
#   config caselaw (which volumes), volumes_a_job (size of a shard), bad_volumes (stop or skip), mirror, bulk_export,
#          lawngnli_data, data, download_minimum_rate

# The target `fetch` downloads the volumes of every shard.
FETCHED += [f"{RESULTS}/sources/caselaw/{shard}.json" for shard in VOLUMES.shards]


# Fetch the volumes of a shard.  The zips are not declared as outputs: Snakemake deletes
# the outputs of a failed job, and the next attempt continues from them.
rule caselaw_volumes:
    input:
        named_cases=NAMED_CASES,
    output:
        record=f"{RESULTS}/sources/caselaw/{{shard}}.json",
    log:
        f"{RESULTS}/logs/caselaw_volumes/{{shard}}.log",
    wildcard_constraints:
        shard="|".join(VOLUMES.shards),
    # Before other jobs that are ready, because a long chain of jobs waits for it.
    priority: 1
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(5),  # seconds per volume
    # Without a fingerprint of the code: a change of the code fetches nothing again.
    params:
        # The files that register sources, with their addresses and digests.
        registries=source_files(PROJECT.papers),
        volumes=VOLUMES.of_shard,
        # Only to run the job again: registered digests of the volumes, and the digest
        # of their content in the mirror or in {RESULTS}/sources.
        pins=VOLUMES.pins,
        content=VOLUMES.content,
        data=CONFIG.data,
        # Whether to leave out a volume that is not available, instead of stopping.
        skip=CONFIG.bad_volumes == "skip",
    message:
        "Fetching the volumes of the shard {wildcards.shard}."
    script:
        "../scripts/caselaw_volumes.py"


# Write the opinions of a shard's volumes, which are in the folder of the record.
rule caselaw_opinions:
    input:
        record=f"{RESULTS}/sources/caselaw/{{shard}}.json",
    output:
        opinions=f"{RESULTS}/data/caselaw/{{shard}}.parquet",
        report=f"{RESULTS}/data/caselaw/{{shard}}.json",
    log:
        f"{RESULTS}/logs/caselaw_opinions/{{shard}}.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(1),  # seconds per volume
    params:
        # The fingerprint of the script and its modules: a change runs the job again.
        code=code("caselaw_opinions.py"),
        # Whether to leave out a volume that cannot be read, instead of stopping.
        skip=CONFIG.bad_volumes == "skip",
    message:
        "Reading the opinions of {wildcards.shard} and the volumes after it."
    script:
        "../scripts/caselaw_opinions.py"
