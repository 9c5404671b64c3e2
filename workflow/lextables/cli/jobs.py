"""The record of a planned job, for `lextables plan --job`."""

from collections.abc import Mapping
from typing import Any

import yaml

from lextables import ROOT
from lextables.pipeline import entries
from lextables.pipeline.errors import BadInput, did_you_mean
from lextables.planning.jobs import Jobs
from lextables.planning.project import load


def record(folder: str, config: Mapping[str, str]) -> str:
    """Return the job that makes a run, as yaml: its inputs, settings and resources.

    ``folder`` is the folder of the run, with or without the folder of the results.
    ``config`` are the keys after ``--config``, with values as texts.  Raises `BadInput`
    for a run that is not planned.
    """
    values: dict[str, Any] = {}
    for key, text in config.items():
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError:
            what = f"{key} = {text!r} is not YAML"
            do = "close brackets and quotes"
            raise BadInput(what, where="command line", do=do) from None
    defaults = entries.mapping(ROOT / "config.yaml")
    project = load(ROOT, ROOT, defaults, values)
    folders = {run.folder: run for run in project.specs}
    name = folder.removeprefix(f"{project.results}/").rstrip("/")
    if name not in folders:
        what = "there is no such run under this configuration"
        do = did_you_mean(name, folders) or "take a folder below results/runs"
        raise BadInput(what, where=folder, do=do)
    jobs = Jobs(project)
    printed: str = yaml.safe_dump(
        jobs.printed(folders[name]), sort_keys=False, width=88
    )
    return printed
