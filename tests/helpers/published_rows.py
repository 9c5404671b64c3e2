"""Small data sets and runs in the format of the pipeline, for tests of the export."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from lextables.pipeline.dataset import write, write_all, write_census
from lextables.pipeline.run import SCORES
from lextables.publish.export import About, Origin, PublishedRun, gather
from lextables.tasks.submitted import File

# Registry texts of the source, and the record of its download.
TEXTS = {"title": "Quill's contracts", "homepage": "https://example.org/quill"}
RECORD = {
    "source": "quill",
    "file": "all.zip",
    "variant": "release",
    "bytes": 7,
    "digest": f"sha256:{'0' * 64}",
    "licence": "CC BY 4.0",
    "citation": "Quill 2020",
    "comparable": True,
    "note": "",
    "obtained_from": "mirror",
}


def data_set(root, name, rows, notes=None, **source):
    """Write a data set ({table: rows}) with its census; return the path of the
    census.
    """
    folder = root / "data" / name
    counts = write_all(
        rows, {table.name: of_table for table, of_table in rows.items()}, folder
    )
    census = {"data": counts, "notes": notes or {}, "sources": [RECORD | source]}
    write_census(folder / "census.json", census)
    return folder / "census.json"


def run(
    root, data_set, table, rows, scores=(), name=("read", "bm25", "short", "seed0")
):
    """Write the predictions and scores of a run; return the run as an input of the
    export.
    """
    folder = Path(root, "runs", data_set, *name)
    write(table, rows, folder / "predictions.parquet")
    write(SCORES, scores, folder / "scores.parquet")
    return PublishedRun(folder, ["BM25 / None"])


def export(
    census, runs=(), tasks=None, name="quill", publish=None, weights=(), **texts
):
    """Return the export of the data sets of these census files; ``texts`` replace texts
    of the registry.
    """
    about = {
        "title": "Quill: a data set",
        "citation": "Quill, 2020. Contracts.",
        "publish": publish or {},
        "tasks": tasks or {},
    }
    return gather(
        name,
        About.model_validate(about),
        census,
        runs,
        {"quill": TEXTS | texts},
        weights,
        Origin("0.1.0", "snakemake publish"),
    )


def file_of(path):
    """Return a file as a user submits it."""
    return File(path.name, path.read_text(encoding="utf-8"))


@cache
def harness(module):
    """Return a Python that has ``module`` (LEXTABLES_HARNESSES or this one); skip the
    test if none has it.
    """
    has_module = f"import importlib.util; importlib.util.find_spec({module!r}).name"
    for python in filter(None, (os.environ.get("LEXTABLES_HARNESSES"), sys.executable)):
        program = [python, "-c", has_module]
        if not subprocess.run(program, capture_output=True, check=False).returncode:
            return python
    pytest.skip(
        f"{module} is not installed: set LEXTABLES_HARNESSES to a Python that has it"
    )
