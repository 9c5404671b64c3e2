# Case law: opinions with their page labels, in shards of volumes.
#
#   in    resources/sources.yaml; a mirror's caselaw/<reporter>/<volume>.zip, or static.case.law; NAMED_CASES, where
#         only volumes with a named case are wanted
#   out   {RESULTS}/sources/caselaw/<shard>.json, which volumes there are and what they are
#         {RESULTS}/data/caselaw/<shard>.parquet, one row an opinion; <shard>.json, what was set aside
#   steps addresses -> zips -> cases -> opinions with page anchors
#
# A shard is one job: the whole corpus has 40,000 volumes, which would be as many.


import hashlib


include: "functions/caselaw.smk"


FETCHED += [f"{RESULTS}/sources/caselaw/{shard}.json" for shard in VOLUMES]


localrules:
    caselaw_volumes,


# The volumes, {RESULTS}/sources/caselaw/<reporter>/<volume>.zip, are no output: a failed job's outputs are
# deleted, and these are what it goes on from.  Each is held to the digest in the shard's record.
use rule base as caselaw_volumes with:
    input:
        NAMED_CASES,
    output:
        f"{RESULTS}/sources/caselaw/{{shard}}.json",
    log:
        f"{RESULTS}/logs/caselaw_volumes/{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/caselaw_volumes/{{shard}}.tsv"
    wildcard_constraints:
        shard="|".join(VOLUMES),
    params:
        script="caselaw_volumes",
        registries=SOURCE_REGISTRIES,
        volumes=lambda wildcards: VOLUMES[wildcards.shard],
        pins=volume_pins,
        content=volume_content,
        data=CONFIG.data,
        skip=CONFIG.bad_volumes == "skip",
    message:
        "Fetching {wildcards.shard} and the volumes after it: a mirror first, then static.case.law."


use rule base as caselaw_opinions with:
    input:
        f"{RESULTS}/sources/caselaw/{{shard}}.json",
    output:
        opinions=f"{RESULTS}/data/caselaw/{{shard}}.parquet",
        report=f"{RESULTS}/data/caselaw/{{shard}}.json",
    log:
        f"{RESULTS}/logs/caselaw_opinions/{{shard}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/caselaw_opinions/{{shard}}.tsv"
    params:
        **script_params("caselaw_opinions"),
        skip=CONFIG.bad_volumes == "skip",
    message:
        "Reading the opinions of {wildcards.shard} and the volumes after it."
