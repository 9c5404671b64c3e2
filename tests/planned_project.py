"""A project whose plans are made in a new working folder."""

import os
from pathlib import Path

from lextables import ROOT
from lextables.models.weights import PLACES
from lextables.pipeline import registry
from lextables.planning import project
from lextables.tasks.submitted import PLACES as SUBMITTED_PLACES


def load(monkeypatch, folder: Path, **config) -> project.Project:
    """Change to ``folder`` and return the project under this configuration."""
    monkeypatch.chdir(folder)
    for name in (PLACES, SUBMITTED_PLACES):
        monkeypatch.setenv(name, "{}")
    defaults = registry.mapping(ROOT / "config.yaml")
    return project.load(ROOT, Path(os.path.relpath(ROOT)), defaults, config)
