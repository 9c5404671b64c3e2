# Params of the rules of case law.


def volume_content(wildcards):
    """Param: the digest of the current content of a shard's volumes."""
    if bulk := [
        Path(CONFIG.bulk_export, v) for v in VOLUMES[wildcards.shard] if "/" not in v
    ]:
        return [CONTENTS.file(path) for path in bulk]
    record = record_of(
        Path(f"{RESULTS}/sources/caselaw/{wildcards.shard}.json"), FetchedVolumes
    ) or {"volumes": []}
    fetched = {entry["file"]: entry for entry in record["volumes"]}
    files = [f"{volume}.zip" for volume in VOLUMES[wildcards.shard]]
    words = "".join(
        f"{file} {source_key('caselaw', file, fetched.get(file))}\n" for file in files
    )
    return hashlib.sha256(words.encode()).hexdigest()


def volume_pins(wildcards):
    """Param: the registered digests of a shard's volumes."""
    wanted = [
        sources.resolve(SOURCES, "caselaw", f"{volume}.zip")
        for volume in VOLUMES[wildcards.shard]
        if "/" in volume
    ]
    return [
        c.pin for file in wanted for c in file.among(file.variants_for(CONFIG.data))
    ]


def shard_minutes(seconds):
    """Resource: the minutes of a job with one shard, each of whose volumes takes ``seconds``."""
    return lambda wildcards, attempt: RESOURCES.limited(
        resources.volume_minutes(len(VOLUMES[wildcards.shard]), seconds) * attempt
    )
