# Params of LawngNLI's construction.


def parser_settings(wildcards):
    """Param: the parser, with the digest of its model."""
    model = LAWNGNLI.parser["model"]
    return LAWNGNLI.parser | ({"content": CONTENTS.folder(place(model))} if model else {})


def bulk_content(wildcards):
    """Param: the digest of the bulk export in the config."""
    if not CONFIG.bulk_export:
        return ""
    # Imported here because it loads pandas.
    from lextables.papers.lawngnli.released_dataset import bulk_files

    folder = Path(CONFIG.bulk_export)
    return CONTENTS.folder(folder, bulk_files(folder))
