# What LawngNLI's construction goes by.


def parser_settings(wildcards):
    """The parser, with the digest of its model."""
    model = LAWNGNLI.parser["model"]
    return LAWNGNLI.parser | ({"content": CONTENTS.folder(place(model))} if model else {})


def bulk_content(wildcards):
    """The digest of the bulk export that the config names."""
    if not CONFIG.bulk_export:
        return ""
    # Imported here: it loads pandas, which few plans need.
    from lextables.papers.lawngnli.released_dataset import bulk_files

    folder = Path(CONFIG.bulk_export)
    return CONTENTS.folder(folder, bulk_files(folder))
