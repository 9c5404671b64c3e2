"""Local folders of weights, fetched from the hub if necessary.

Settings name weights in the same way on every machine (`Weights.location` of `lextables.models.resolve`).
The workflow passes the local folders to each job through the environment, so moving weights reruns nothing.
"""

import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lextables.models.files import HUB_FILES
from lextables.pipeline.errors import BadInput

# Environment variable with `resolve.places` as JSON.
PLACES = "LEXTABLES_PLACES"
PACKAGE = "package:"


def weights_folder(settings: Mapping[str, Any]) -> str:
    """Return a local folder with the weights named by `resolve.model_settings`, fetched if necessary.

    Raises `BadInput` where the hub does not serve them, or a user's model is not of its declared kind.
    """
    location, revision = settings["weights"], settings["revision"]
    if folder := place(location):
        return folder
    entry = _places().get(location, {})
    folder = fetched(entry.get("hub", location), revision)
    if "kind" in entry:
        from lextables.models.inspection import check  # slow to import

        check(folder, entry["kind"], settings["model"], settings.get("max_length") or 0)
    return folder


def place(location: str) -> str | None:
    """Return the local folder of a location, or None for one that is only on the hub."""
    if "folder" in (entry := _places().get(location, {})):
        return entry["folder"]
    if location.startswith(PACKAGE):
        return package_folder(location.removeprefix(PACKAGE))
    return location if Path(location).is_dir() else None


def _places() -> dict[str, dict[str, str]]:
    return json.loads(os.environ.get(PLACES, "{}"))


def package_folder(package: str) -> str | None:
    """Return the folder or GGUF file of a model ``module/path`` in an installed package, or None."""
    module, _, inside = package.partition("/")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / inside
    whole = folder.is_file() if folder.suffix == ".gguf" else (folder / "config.json").is_file()
    return str(folder) if whole else None


def cached(hub: str, revision: str | None) -> str | None:
    """Return the folder of a model in the hub cache, or None."""
    from huggingface_hub.constants import HF_HUB_CACHE

    if not Path(HF_HUB_CACHE, f"models--{hub.replace('/', '--')}").is_dir():
        return None
    from huggingface_hub import snapshot_download  # slow to import
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return snapshot_download(hub, revision=revision, local_files_only=True, allow_patterns=HUB_FILES)
    except LocalEntryNotFoundError:
        return None


def fetched(hub: str, revision: str | None) -> str:
    """Return the folder of a model in the hub cache, fetching missing files."""
    import httpx2  # slow to import, as above
    from huggingface_hub import snapshot_download

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
