"""Where a model's weights are: mirror folder, installed package, hub cache, hub, in that order.

Decided before any job starts, so that a model that is not to be had becomes a reason in a table and
never an error in the middle of a run.

What looks on this machine is imported where it looks: it loads the hub's client, which takes longer than to
make a table, and tables know of models by their plans alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lextables.pipeline import user_rows
from lextables.pipeline.config import Config, ExtraModel
from lextables.pipeline.errors import BadInput
from lextables.pipeline.registry import content

Kind = Literal[
    "bi-encoder",
    "cross-encoder",
    "encoder",
    "parser",
    "embedding-api",
    "language-model",
    "language-model-api",
]
MIRROR = "mirror:"
STANDS_IN = "a tiny model of the sample's own in its place"
# Where a server's model is found.
API = "API"
PARSER = "own-parser"


class Parts(BaseModel):
    """Packages that hold the pieces of one zip of a model, in their order, and the digest of the whole."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    packages: tuple[str, ...] = Field(min_length=1)
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Model(BaseModel):
    """One entry of `resources/models.yaml`.

    Weights in an installed ``package`` are one folder or GGUF file of it; ``parts`` are several that hold
    them together.  ``gated`` are those that the hub gives only to who has agreed to their licence there.  A
    language model is asked at its ``endpoint`` and reads ``max_length`` tokens, its answer among them.
    A server's model is the published one at the ``hosts`` of its provider alone.
    ``sample`` marks the panel of ``models: sample``; on the sample's data the entry ``stand_in`` runs there
    in the model's place.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    kind: Kind
    licence: str
    use: str
    hub: str | None = None
    revision: str | None = Field(default=None, pattern="^[0-9a-f]{40}$")
    package: str | None = None
    parts: Parts | None = None
    parameters: int | None = None
    max_length: int | None = None
    endpoint: Literal["chat", "completions"] | None = None
    hosts: tuple[str, ...] = ()
    gated: bool = False
    sample: bool = False
    stand_in: str | None = None


@dataclass(frozen=True)
class Weights:
    """Loadable weights, named alike on every machine; ``found`` says in words where they were found.

    ``location`` is ``mirror:<name>``, ``package:<module>/<folder>`` or ``package:<name>``, a hub id, the
    key of a user's own model, a folder below the results, or a server's own name for it; ``revision`` is that
    of a hub id.  Of a language model also its ``endpoint`` and its ``window``, in tokens.
    """

    location: str
    revision: str | None
    found: str
    endpoint: str | None = None
    window: int | None = None


@dataclass(frozen=True)
class Missing:
    """A model that cannot run, and why, as the table prints it."""

    reason: str


def load_models(path: str | Path) -> dict[str, Model]:
    """Read and check `resources/models.yaml`; `BadInput` names the entry and key of the first fault."""
    entries = content(path)
    if taken := [name for name in entries if name.startswith(user_rows.PREFIX)]:
        raise BadInput(
            f"{taken[0]} starts with {user_rows.PREFIX!r}, which marks a user's own models",
            where=Path(path).name,
        )
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
    """Return the `Weights` of ``model`` under the config's choice of models, or `Missing` with a reason.

    A stand-in lies in the sample's folder, which is a mirror of the sample's data alone: it never runs on a
    release.
    """
    from lextables.models.files import reads_gguf
    from lextables.models.weights import PACKAGE, cached, package_folder

    if model.kind in ("embedding-api", "language-model-api"):
        if choice == "sample":
            return Missing("sample data")
        if not llm:
            return Missing(f"{name} is behind a paid API and config key llm names none")
        return Weights(name, None, API)
    if choice == "sample" and not model.sample:
        return Missing("sample data")
    if choice == "sample" and model.stand_in and _in_mirrors(model.stand_in, mirrors):
        return Weights(f"{MIRROR}{model.stand_in}", None, STANDS_IN)
    if _in_mirrors(name, mirrors):
        return Weights(f"{MIRROR}{name}", None, "mirror folder")
    if model.package and package_folder(model.package):
        module = model.package.partition("/")[0]
        if model.package.endswith(".gguf") and not reads_gguf():
            return Missing(f"{name} is a GGUF file, and neither gguf nor llama-cpp-python is installed here")
        return Weights(f"{PACKAGE}{model.package}", None, f"installed package {module}")
    if _assembled(name, model):
        first = model.parts.packages[0]
        return Weights(f"{PACKAGE}{name}", None, f"installed package {first} and its other parts")
    if model.hub is None:
        return Missing(f"{name} is not available here")
    # In the cache or not is one to the run: the first one fetches, and nothing is to run anew after it.
    if (choice == "paper" and not model.gated) or cached(model.hub, model.revision):
        return Weights(model.hub, model.revision, "hub")
    gate = "is a gated model and " if model.gated else ""
    return Missing(f"{model.hub} {gate}is not available here")


def served(model: Model, llm: str) -> bool:
    """Whether the server at the address ``llm`` can be trusted to have the published ``model``.

    Any other server may have another model of this name: one on this machine, a private host, a gateway.
    """
    host = (urlsplit(llm).hostname or "").rstrip(".")
    return any(host == known or host.endswith(f".{known}") for known in model.hosts)


def _assembled(name: str, model: Model) -> str | None:
    if model.parts is None:
        return None
    from lextables.models.package_parts import assembled

    return assembled(name, model.parts.packages, model.parts.sha256)


def _in_mirrors(name: str, mirrors: Sequence[Path]) -> Path | None:
    folders = (mirror / "models" / name for mirror in mirrors)
    return next((folder for folder in folders if _is_model(folder)), None)


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file() or any(folder.glob("*.gguf"))


def resolve_extra(extra: ExtraModel, choice: Literal["sample", "available", "paper"]) -> Weights:
    """Return the weights of a user's own model: a folder or file if one of that name exists, else a hub id.

    Of a hub model that is to be here already, the revision is the commit that is here.  A server's model has
    no weights but its name there.
    """
    if extra.kind == "language-model-api":
        return Weights(extra.model, None, API)
    if Path(extra.model).expanduser().exists():
        return Weights(extra.key, None, "folder" if Path(extra.model).expanduser().is_dir() else "file")
    if choice != "paper" and (folder := _cached_extra(extra)):
        return Weights(extra.key, folder.name, f"hub, {extra.model}")
    return Weights(extra.key, extra.revision, f"hub, {extra.model}")


def _cached_extra(extra: ExtraModel) -> Path | None:
    from huggingface_hub.errors import HFValidationError

    from lextables.models.weights import cached

    try:
        folder = cached(extra.model, extra.revision)
    except HFValidationError:
        return None  # no id of the hub; `inspection` says so
    return Path(folder) if folder else None


def places(config: Config, models: Mapping[str, Model], mirrors: Sequence[Path]) -> dict[str, dict[str, str]]:
    """Return where the locations of this configuration are on this machine.

    That is a ``folder`` (or a GGUF file); or, for a user's own model that is yet to be fetched, ``hub`` and
    ``kind``.
    Packages are found wherever they are installed.
    """
    from lextables.models.weights import PACKAGE, cached

    found: dict[str, dict[str, str]] = {}
    for name, model in models.items():
        if folder := _in_mirrors(name, mirrors):
            found[f"{MIRROR}{name}"] = {"folder": str(folder)}
        if model.hub and (held := cached(model.hub, model.revision)):
            found[model.hub] = {"folder": held}
        if config.models != "sample" and (whole := _assembled(name, model)):
            found[f"{PACKAGE}{name}"] = {"folder": whole}
    for extra in config.extra_models:
        folder = Path(extra.model).expanduser()
        if extra.kind == "language-model-api":
            continue
        if folder.exists():
            found[extra.key] = {"folder": str(folder.resolve())}
        elif held := _cached_extra(extra):
            found[extra.key] = {"folder": str(held)}
        else:
            found[extra.key] = {"hub": extra.model, "kind": extra.kind}
    if Path(config.parser).expanduser().is_dir():
        found[PARSER] = {"folder": str(Path(config.parser).expanduser().resolve())}
    return found


def model_settings(name: str, weights: Weights) -> dict[str, Any]:
    """The settings that say which weights a run uses, and of a language model how it is asked."""
    settings = {
        "model": name,
        "weights": weights.location,
        "revision": weights.revision,
        "found": weights.found,
    }
    asked = {"endpoint": weights.endpoint, "window": weights.window}
    return settings | {key: value for key, value in asked.items() if value is not None}


def find(
    name: str, config: Config, models: Mapping[str, Model], mirrors: Sequence[Path]
) -> Weights | Missing:
    """Return the weights of the user's own model whose key is ``name``, else of the registry's model."""
    for extra in config.extra_models:
        if extra.key == name:
            return replace(resolve_extra(extra, config.models), endpoint=extra.endpoint)
    model = models[name]
    found = resolve(name, model, config.models, mirrors, config.llm)
    if isinstance(found, Weights) and found.found == API and not served(model, config.llm):
        hosts = " or ".join(model.hosts) or "no known server"
        return Missing(f"{name} is served by {hosts} alone, and llm names {urlsplit(config.llm).hostname}")
    if isinstance(found, Missing) or not model.kind.startswith("language-model"):
        return found
    read = models[model.stand_in] if found.found == STANDS_IN and model.stand_in else model
    return replace(found, endpoint=read.endpoint, window=read.max_length)
