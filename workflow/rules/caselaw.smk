# Case law: opinions with their page labels, in shards of volumes.
#
#   in    resources/sources.yaml; a mirror's caselaw/<reporter>/<volume>.zip, or static.case.law; NAMED_CASES, if
#         only volumes that contain one of these cases are needed
#   out   {RESULTS}/sources/caselaw/<shard>.json, the volumes with their digests
#         {RESULTS}/data/caselaw/<shard>.parquet, one row per opinion; <shard>.json, counts of excluded cases
#   steps addresses -> zips -> cases -> opinions with page anchors
#
# One job per shard of volumes: the whole corpus has 40,000 volumes, too many for one
# job each.

FETCHED += [f"{RESULTS}/sources/caselaw/{shard}.json" for shard in VOLUMES.shards]


# The volumes, {RESULTS}/sources/caselaw/<reporter>/<volume>.zip, are not declared as
# outputs: Snakemake deletes the outputs of a failed job, and the next attempt continues
# from them.  The shard's record has their digests.
rule caselaw_volumes:
    input:
        NAMED_CASES,
    output:
        f"{RESULTS}/sources/caselaw/{{shard}}.json",
    log:
        f"{RESULTS}/logs/caselaw_volumes/{{shard}}.log",
    wildcard_constraints:
        shard="|".join(VOLUMES.shards),
    # At the head of a long chain of jobs.
    priority: 1
    localrule: SMALL_JOBS_ARE_LOCAL
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(5),
    params:
        registries=source_files(PROJECT.papers),
        volumes=VOLUMES.of_shard,
        pins=VOLUMES.pins,
        content=VOLUMES.content,
        data=CONFIG.data,
        skip=CONFIG.bad_volumes == "skip",
    message:
        "Fetching {wildcards.shard} and the volumes after it: a mirror first, then static.case.law."
    script:
        "../scripts/caselaw_volumes.py"


rule caselaw_opinions:
    input:
        f"{RESULTS}/sources/caselaw/{{shard}}.json",
    output:
        opinions=f"{RESULTS}/data/caselaw/{{shard}}.parquet",
        report=f"{RESULTS}/data/caselaw/{{shard}}.json",
    log:
        f"{RESULTS}/logs/caselaw_opinions/{{shard}}.log",
    conda:
        ENVIRONMENT
    resources:
        runtime=VOLUMES.runtime(1),
    params:
        code=code("caselaw_opinions.py"),
        skip=CONFIG.bad_volumes == "skip",
    message:
        "Reading the opinions of {wildcards.shard} and the volumes after it."
    script:
        "../scripts/caselaw_opinions.py"
