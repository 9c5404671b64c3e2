"""A registry with one source, for tests of fetching."""

import yaml

from lextables.sources.entries import load

TEXTS = {
    "title": "A",
    "licence": "CC0",
    "citation": "A 2020",
    "homepage": "https://example.org",
}


def registry(folder, source, files):
    """Return the loaded registry of a source with these files, {name: entry}; values of
    None are left out.
    """
    entries = {}
    for name, entry in files.items():
        entries[name] = {
            key: value for key, value in entry.items() if value is not None
        }
    path = folder / "sources.yaml"
    path.write_text(yaml.safe_dump({source: TEXTS | {"files": entries}}))
    return load(path)
