"""Runs a script of the pipeline in this process, as its rule does."""

import logging
import runpy
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[2] / "workflow/scripts"


class Files(list):
    """Files of a rule, by name and in order."""

    def __init__(self, **named: Any) -> None:
        super().__init__(named.values())
        vars(self).update(named)


def run_script(
    name: str,
    log: str | Path,
    files: Files,
    output: Files,
    *,
    params: dict,
    **wildcards: str,
) -> None:
    """Run a script with these inputs, outputs, params and wildcards, and one thread."""
    level = logging.root.level
    handlers = logging.root.handlers[:]
    given = {
        "input": files,
        "output": output,
        "log": [str(log)],
        "params": Files(**params),
    }
    try:
        snakemake = Files(**given, wildcards=Files(**wildcards), threads=1)
        runpy.run_path(str(SCRIPTS / name), {"snakemake": snakemake})
    finally:
        logging.root.setLevel(level)
        logging.root.handlers[:] = handlers
