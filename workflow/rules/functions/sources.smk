# Params of the rules of sources.


def source_variants(wildcards):
    """Param: the variants of a source file that the configuration allows."""
    return sources.resolve(SOURCES, wildcards.source, wildcards.file).variants_for(
        CONFIG.data
    )


def source_pins(wildcards):
    """Param: the registered digests of a source file; a new digest fetches it again."""
    wanted = sources.resolve(SOURCES, wildcards.source, wildcards.file)
    return [
        candidate.pin for candidate in wanted.among(wanted.variants_for(CONFIG.data))
    ]


def source_content(wildcards):
    """Param: the current content of a source file; other content in a mirror is fetched again."""
    file = Path(f"{RESULTS}/sources/{wildcards.source}/{wildcards.file}")
    provenance = file.with_name(f"{file.name}.json")
    fetched = record_of(provenance) if file.is_file() else None
    return source_key(wildcards.source, wildcards.file, fetched)


def record_of(provenance, kind=Provenance):
    """The record of a download; None if it does not exist or is damaged: then it is fetched again."""
    with suppress(FileNotFoundError, BadInput):
        return read_json(provenance, kind)
    return None


def source_key(source, file, fetched):
    """The pin or digest of a source file, given the provenance of the one that was fetched.

    The digest of a damaged download that was removed is part of it.
    """
    wanted = sources.resolve(SOURCES, source, file)
    key = content_key(
        wanted,
        CONFIG.mirrors(ROOT),
        wanted.variants_for(CONFIG.data),
        fetched,
        CONTENTS.file,
    )
    removed = Path(f"{RESULTS}/sources/{source}/{file}.removed")
    return (
        f"{key} after {removed.read_text(encoding='utf-8')}"
        if removed.is_file()
        else key
    )
