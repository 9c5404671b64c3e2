# Params and inputs of LawngNLI's construction.

from lextables.sources.fetch import manual_download


def parser_settings(wildcards):
    """Param: the parser, with the digest of its model."""
    model = LAWNGNLI.parser["model"]
    return LAWNGNLI.parser | (
        {"content": CONTENTS.folder(place(model))} if model else {}
    )


def released_masks():
    """Input: the authors' filter file, where it is."""
    wanted = sources.resolve(SOURCES, "lawngnli_ids", "LawngNLI_filter.xz")
    path = f"{RESULTS}/sources/{wanted.name}"
    missing = manual_download(
        wanted, CONFIG.mirrors(ROOT), wanted.variants_for(CONFIG.data)
    )
    return [] if missing and not Path(path).is_file() else [path]
