"""Where a model's weights are: mirror folder, installed package, hub cache, hub, in that order.

Decided before any job starts, so that a model that is not to be had becomes a reason in a table and
never an error in the middle of a run.
"""

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml
from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lextables.config import Config, ExtraModel
from lextables.errors import BadInput

Kind = Literal[
    "bi-encoder",
    "cross-encoder",
    "encoder",
    "parser",
    "embedding-api",
    "language-model",
    "language-model-api",
]
# What loading needs; the same weights in other formats are left where they are.
HUB_FILES = ("*.json", "*.txt", "*.safetensors", "*.model")


class Model(BaseModel):
    """One entry of `resources/models.yaml`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Kind
    licence: str
    use: str
    hub: str | None = None
    revision: str | None = Field(default=None, pattern="^[0-9a-f]{40}$")
    package: str | None = None
    parameters: int | None = None
    max_length: int | None = None
    sample: bool = False


@dataclass(frozen=True)
class Weights:
    """Loadable weights: a folder, or a hub id with its revision.  ``found`` says where, in words."""

    location: str
    revision: str | None
    found: str


@dataclass(frozen=True)
class Missing:
    """A model that cannot run, and why, as the table prints it."""

    reason: str


def load_models(path: str | Path) -> dict[str, Model]:
    """Read and check `resources/models.yaml`; `BadInput` names the entry and key of the first fault."""
    entries = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    models = {}
    for name, entry in entries.items():
        try:
            models[name] = Model.model_validate(entry)
        except ValidationError as error:
            fault = error.errors()[0]
            key = ".".join(str(part) for part in fault["loc"])
            raise BadInput(f"{name}.{key}: {fault['msg']}", where=Path(path).name) from None
    return models


def resolve(
    name: str,
    model: Model,
    choice: Literal["sample", "available", "paper"],
    mirrors: Sequence[Path],
    llm: str,
) -> Weights | Missing:
    """Return the `Weights` of ``model`` under the config's choice of models, or `Missing` with a reason."""
    if model.kind == "embedding-api":
        if choice == "sample":
            return Missing("sample data")
        return (
            Weights(name, None, "API")
            if llm
            else Missing(f"{name} is behind a paid API and config key llm names none")
        )
    if model.kind == "language-model-api":
        return Missing(f"{name} is behind a paid API; language-model rerankers are not built yet")
    if model.kind == "language-model":
        return Missing(f"{model.hub} is a gated model; language-model rerankers are not built yet")
    if choice == "sample" and not model.sample:
        return Missing("sample data")
    for mirror in mirrors:
        folder = mirror / "models" / name
        if (folder / "config.json").is_file():
            return Weights(str(folder), None, "mirror folder")
    if model.package and (folder := _package_folder(model.package)):
        return Weights(str(folder), None, f"installed package {model.package.split('/')[0]}")
    if model.hub is None:
        return Missing(f"{name} is not available here")
    if cached := _cached(model.hub, model.revision):
        return Weights(cached, model.revision, "hub cache")
    if choice == "paper":
        return Weights(model.hub, model.revision, "hub")
    return Missing(f"{model.hub} is not available here")


def resolve_extra(extra: ExtraModel) -> Weights:
    """Return the weights of a user's own model: a folder if one of that name exists, else a hub id."""
    folder = Path(extra.model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise BadInput(
                f"the folder {extra.model!r} holds no config.json",
                where=f"config, extra_models, {extra.name}",
                do="name a folder saved by transformers or sentence-transformers",
            )
        return Weights(str(folder.resolve()), None, "folder")
    if extra.model.startswith((".", "/", "~")):
        raise BadInput(
            f"the folder {extra.model!r} does not exist", where=f"config, extra_models, {extra.name}"
        )
    return Weights(extra.model, extra.revision, "hub")


def model_settings(name: str, weights: Weights) -> dict[str, Any]:
    """The settings that say which weights a run uses."""
    return {"model": name, "weights": weights.location, "revision": weights.revision, "found": weights.found}


def slug(name: str) -> str:
    """Return a model's name as part of a folder name."""
    return "".join(letter if letter.isalnum() or letter in "-." else "-" for letter in name.lower()).strip(
        "-."
    )


def find(
    name: str, config: Config, models: Mapping[str, Model], mirrors: Sequence[Path]
) -> Weights | Missing:
    """Return the weights of a user's own model called ``name``, else of the registry's."""
    for extra in config.extra_models:
        if extra.name == name:
            return resolve_extra(extra)
    return resolve(name, models[name], config.models, mirrors, config.llm)


def _package_folder(package: str) -> Path | None:
    module, _, inside = package.partition("/")
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / inside
    return folder if (folder / "config.json").is_file() else None


def _cached(hub: str, revision: str | None) -> str | None:
    try:
        return snapshot_download(hub, revision=revision, local_files_only=True, allow_patterns=HUB_FILES)
    except LocalEntryNotFoundError:
        return None


def download(weights: Weights) -> str:
    """Return a local folder with the weights, fetching them from the hub when they are not there yet."""
    if Path(weights.location).is_dir():
        return weights.location
    return snapshot_download(weights.location, revision=weights.revision, allow_patterns=HUB_FILES)


def weights_folder(settings: Mapping[str, Any]) -> str:
    """Return a local folder with the weights that `model_settings` named, fetched if need be."""
    return download(Weights(settings["weights"], settings["revision"], settings["found"]))
