"""Weights where a job finds them: a folder on this machine, fetched from the hub where it must be.

Settings name weights by words that are the same on every machine (`Weights.location` of
`lextables.models.resolve`); which folder that is here stands in the environment, which the workflow sets
for every job.  So a project that moves keeps its results.
"""

import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from lextables.models.files import HUB_FILES
from lextables.pipeline.errors import BadInput

# The variable with `resolve.places` as JSON.
PLACES = "LEXTABLES_PLACES"
PACKAGE = "package:"


def weights_folder(settings: Mapping[str, Any]) -> str:
    """Return a local folder with the weights that `resolve.model_settings` named, fetched if need be.

    Raises `BadInput` where the hub does not give them, or gives what is not the model it is declared as.
    """
    location, revision = settings["weights"], settings["revision"]
    if folder := place(location):
        return folder
    entry = _places().get(location, {})
    folder = fetched(entry.get("hub", location), revision)
    if "kind" in entry:
        from lextables.models.inspection import check  # loads what only a check needs

        check(folder, entry["kind"], settings["model"], settings.get("max_length") or 0)
    return folder


def place(location: str) -> str | None:
    """Return the folder that a location is on this machine, or None for one that is on the hub alone."""
    if "folder" in (entry := _places().get(location, {})):
        return entry["folder"]
    if location.startswith(PACKAGE):
        return package_folder(location.removeprefix(PACKAGE))
    return location if Path(location).is_dir() else None


def _places() -> dict[str, dict[str, str]]:
    return json.loads(os.environ.get(PLACES, "{}"))


def package_folder(package: str) -> str | None:
    """Return the folder or GGUF file of a model, given as ``module/path``, if that package is installed."""
    module, _, inside = package.partition("/")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / inside
    whole = folder.is_file() if folder.suffix == ".gguf" else (folder / "config.json").is_file()
    return str(folder) if whole else None


def cached(hub: str, revision: str | None) -> str | None:
    """Return the folder of a model in the hub cache, or None."""
    try:
        return snapshot_download(hub, revision=revision, local_files_only=True, allow_patterns=HUB_FILES)
    except LocalEntryNotFoundError:
        return None


def fetched(hub: str, revision: str | None) -> str:
    """Return the folder of a model in the hub cache, fetched when it is not whole there."""
    try:
        return snapshot_download(hub, revision=revision, allow_patterns=HUB_FILES)
    except (OSError, httpx2.HTTPError) as error:
        at = f" at revision {revision}" if revision else ""
        raise BadInput(
            f"the model hub does not give {hub}{at} ({_first_line(error)})",
            where="models",
            do="check the name and the network, or set models=available to run what is here",
        ) from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
