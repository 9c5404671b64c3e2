"""Stored pages and cards: tests/golden/pages.  `make golden` rewrites them."""

import os
from pathlib import Path

from lextables.pipeline.version import snakemake_path

STORED = Path(__file__).parents[1] / "golden/pages"


def check(name: str, text: str) -> None:
    """Compare a page with the stored one; the path of snakemake depends on the
    environment.
    """
    text = text.replace(snakemake_path(), "snakemake")
    if os.environ.get("LEXTABLES_GOLDEN"):
        (STORED / name).write_text(text, encoding="utf-8", newline="\n")
    # Bytes, because reading text replaces carriage returns.
    assert text == (STORED / name).read_bytes().decode(), name
