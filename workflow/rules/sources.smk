# Sources: the published bytes, checked against the registry.
#
#   in    resources/sources.yaml and what a paper's file brings; resources/sample, or the mirror folders and
#         then the registered addresses
#   out   {RESULTS}/sources/<source>/<file>        the bytes
#         {RESULTS}/sources/<source>/<file>.json   which variant they are, where they came from, the licence
#
# A transfer that is cut leaves <file>.part, from which the next attempt goes on.


localrules:
    fetch_source,


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
    whole = file.is_file() and provenance.is_file()
    fetched = json.loads(provenance.read_text(encoding="utf-8")) if whole else None
    return standing_bytes(wildcards.source, wildcards.file, fetched)


def standing_bytes(source, file, fetched):
    """The pin or digest of a source file, given the provenance of the one that was fetched."""
    wanted = sources.resolve(SOURCES, source, file)
    return standing(wanted, CONFIG.mirrors(ROOT), wanted.variants_for(CONFIG.data), fetched, CONTENTS.file)


rule fetch_source:
    output:
        file=f"{RESULTS}/sources/{{source}}/{{file}}",
        provenance=f"{RESULTS}/sources/{{source}}/{{file}}.json",
    log:
        f"{RESULTS}/logs/sources/{{source}}/{{file}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/sources/{{source}}/{{file}}.tsv"
    wildcard_constraints:
        # Registered names only: of x.json and x.json.json the first is a file and the second its provenance.
        source="|".join(SOURCES),
        file="|".join(
            sorted({sources.file_regex(name) for entry in SOURCES.values() for name in entry.files})
        ),
    retries: 1
    conda:
        ENVIRONMENT
    params:
        registries=SOURCE_REGISTRIES,
        variants=source_variants,
        pins=source_pins,
        content=source_content,
    message:
        "Fetching {wildcards.file} of {wildcards.source}: a mirror first, then its addresses."
    script:
        "../scripts/fetch_source.py"
