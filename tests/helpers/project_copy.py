"""A copy of the project, in which tests change files."""

import shutil
from pathlib import Path

from lextables import ROOT

PARTS = ("Snakefile", "config.yaml", "workflow", "resources", "envs", "profiles")


def copied(project: Path) -> Path:
    """Copy what runs need to the new folder ``project``; return it."""
    project.mkdir(parents=True)
    ignore = shutil.ignore_patterns("__pycache__")
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, project / part, ignore=ignore)
        else:
            shutil.copy2(ROOT / part, project / part)
    return project
