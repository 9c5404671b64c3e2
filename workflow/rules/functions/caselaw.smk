# What the rules of case law ask of the registry.


def volume_content(wildcards):
    """Which bytes of a shard's volumes stand now, as one digest."""
    record = record_of(Path(f"{RESULTS}/sources/caselaw/{wildcards.shard}.json")) or {"volumes": []}
    fetched = {entry["file"]: entry for entry in record["volumes"]}
    files = [f"{volume}.zip" for volume in VOLUMES[wildcards.shard]]
    words = "".join(f"{file} {source_key('caselaw', file, fetched.get(file))}\n" for file in files)
    return hashlib.sha256(words.encode()).hexdigest()


def volume_pins(wildcards):
    """What a shard's volumes are checked against."""
    wanted = [sources.resolve(SOURCES, "caselaw", f"{volume}.zip") for volume in VOLUMES[wildcards.shard]]
    return [c.pin for file in wanted for c in file.among(file.variants_for(CONFIG.data))]
