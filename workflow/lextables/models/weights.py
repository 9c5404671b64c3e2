"""Weights where a job finds them: a folder on this machine, fetched from the hub where it must be.

Settings name weights by words that are the same on every machine (`Weights.location` of
`lextables.models.resolve`); which folder that is here stands in the environment, which the workflow sets
for every job.  So a project that moves keeps its results.
"""

import importlib.util
import json
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError

from lextables.errors import BadInput

# The variable with `resolve.places` as JSON.
PLACES = "LEXTABLES_PLACES"
PACKAGE = "package:"
# What loading needs; the same weights in other formats are left where they are.
HUB_FILES = ("*.json", "*.txt", "*.safetensors", "*.model")


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
        # A check refuses weights and changes no result: found by name, it is no part of a run's code.
        import_module("lextables.models.inspection").check(
            folder, entry["kind"], settings["model"], settings.get("max_length") or 0
        )
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


def gguf_file(place: str | Path) -> Path | None:
    """Return the GGUF file that ``place`` is, or that is all the weights of the folder that it is."""
    place = Path(place)
    if place.is_file():
        return place
    files = sorted(place.glob("*.gguf"))
    return files[0] if len(files) == 1 and not (place / "config.json").is_file() else None


def reads_gguf() -> bool:
    """Whether anything that reads GGUF files is installed here."""
    return any(importlib.util.find_spec(name) for name in ("llama_cpp", "gguf"))


def model_files(folder: str | Path) -> list[Path]:
    """Return the files of a model that loading reads, those of a sentence encoder's modules included.

    What else a folder holds (checkpoints, optimiser states, a card) is no part of the model.  Of a GGUF file,
    or a folder that has nothing else, it is that.
    """
    folder = Path(folder)
    if folder.is_file():
        return [folder]
    if not (folder / "config.json").is_file() and (files := sorted(folder.glob("*.gguf"))):
        return files
    places = [folder, *(folder / path for _, path in modules_of(folder))]
    found = {file for place in places for pattern in HUB_FILES for file in place.glob(pattern)}
    return sorted(file for file in found if file.is_file())


def modules_of(folder: Path) -> list[tuple[str, str]]:
    """Return the (kind, folder) of each module of a sentence-transformers model; empty for any other."""
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))
        return [(part["type"].rpartition(".")[2], part["path"]) for part in listed]
    except (ValueError, TypeError, KeyError, AttributeError):
        return []


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
