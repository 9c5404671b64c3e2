"""A project whose plans are made in a new working folder."""

import os
from pathlib import Path

from snakemake.iocontainers import Wildcards

from lextables import ROOT
from lextables.models.weights import PLACES
from lextables.pipeline import entries
from lextables.planning import project
from lextables.planning.jobs import Jobs
from lextables.tasks.submitted import PLACES as SUBMITTED_PLACES


def load(monkeypatch, folder: Path, **config) -> project.Project:
    """Change to ``folder`` and return the project under this configuration."""
    monkeypatch.chdir(folder)
    for name in (PLACES, SUBMITTED_PLACES):
        monkeypatch.setenv(name, "{}")
    defaults = entries.mapping(ROOT / "config.yaml")
    return project.load(ROOT, Path(os.path.relpath(ROOT)), defaults, config)


def load_with_mirror(monkeypatch, folder: Path, mirror: Path) -> project.Project:
    """Change to ``folder`` and return the project of ACORD with models of a mirror."""
    config = {"data": "release", "models": "available", "papers": ["acord"]}
    return load(monkeypatch, folder, mirror=str(mirror), **config)


def load_jobs(monkeypatch, folder: Path, **config) -> Jobs:
    """Change to ``folder`` and return the jobs under this configuration."""
    return Jobs(load(monkeypatch, folder, **config))


def some_run(project, experiment, paper="maud", model=""):
    """Return a planned run of the experiment; its model has ``model`` in its name."""
    for run in project.specs:
        if (run.experiment, run.data_set) == (experiment, paper) and model in run.model:
            return run
    raise LookupError(experiment)


def wildcards_of(run):
    """Return the wildcards of a run."""
    names = ("experiment", "model", "condition", "seed")
    parts = {name: str(getattr(run, name)) for name in names}
    return Wildcards(fromdict={"dataset": run.data_set, **parts})
