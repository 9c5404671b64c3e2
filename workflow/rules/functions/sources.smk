# What the rules of sources ask of the registry.


def source_variants(wildcards):
    """The variants that this run may use of a source file."""
    return sources.resolve(SOURCES, wildcards.source, wildcards.file).variants_for(CONFIG.data)


def source_pins(wildcards):
    """What the file is checked against: a new digest in the registry fetches it again."""
    wanted = sources.resolve(SOURCES, wildcards.source, wildcards.file)
    return [candidate.pin for candidate in wanted.among(wanted.variants_for(CONFIG.data))]


def source_content(wildcards):
    """Which bytes of a source file stand now: other ones in a mirror's first place are fetched."""
    file = Path(f"{RESULTS}/sources/{wildcards.source}/{wildcards.file}")
    provenance = file.with_name(f"{file.name}.json")
    fetched = record_of(provenance) if file.is_file() else None
    return source_key(wildcards.source, wildcards.file, fetched)


def record_of(provenance):
    """What a record of fetching says; None where it is not there, or was cut short since."""
    try:
        return json.loads(provenance.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def source_key(source, file, fetched):
    """The pin or digest of a source file, given the provenance of the one that was fetched."""
    wanted = sources.resolve(SOURCES, source, file)
    return content_key(wanted, CONFIG.mirrors(ROOT), wanted.variants_for(CONFIG.data), fetched, CONTENTS.file)
