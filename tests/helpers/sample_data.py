"""Data sets of the sample, written as the rule of data sets does."""

import json
from pathlib import Path

from helpers.registered import read
from lextables.pipeline.dataset import write_all
from lextables.registry import modules


def write_data_set(name: str, folder: Path) -> None:
    """Write the tables and the census of a paper's data set into ``folder``."""
    source = {"source": "x", "file": "x", "variant": "sample", "comparable": False}
    tables = modules.module(name, "schema").TABLES[name]
    counts = write_all(tables, read(name, name).of, folder)
    census = json.dumps({"data": counts, "notes": {}, "sources": [source]})
    (folder / "census.json").write_text(census)
