"""Location of a model's weights: mirror folder, package, NLTK's data, hub cache or hub,
in that order; models of an API have none.

Weights that are still to be downloaded count only with ``models: paper``.  The location
is resolved before any job starts, so an unavailable model becomes a reason in a
table and never an error during a run.

The functions that search this machine import the hub's client late, because that takes
longer than making a table, and tables only need the plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field

from lextables.pipeline import user_rows
from lextables.pipeline.config import Choice, Config, ExtraModel
from lextables.pipeline.entries import Entry, entries
from lextables.pipeline.errors import BadInput, did_you_mean
from lextables.pipeline.files import JsonObject

Kind = Literal[
    "bi-encoder",
    "cross-encoder",
    "encoder",
    "parser",
    "embedding-api",
    "language-model",
    "language-model-api",
]
# Kinds of models and of their tokenizers, each with a tiny model in rehearsals
# (`models.tiny`).
Architecture = Literal[
    "albert",
    "bart",
    "bert",
    "bert-cased",
    "bigbird",
    "deberta-v2",
    "deberta-v3",
    "distilbert",
    "gemma3",
    "llama",
    "longformer",
    "modernbert",
    "mpnet",
    "qwen2",
    "qwen3",
    "roberta",
]
MIRROR = "mirror:"  # beginning of the location of a model in a mirror
SAMPLE_DATA = "sample data"  # why a model is left out
# Values of `Weights.found`.
STANDS_IN = "a tiny model of the sample in its place"
REHEARSED = "tiny random weights of its architecture in its place"  # in a rehearsal
API = "API"  # a server has the model
NLTK_HUB = "hub of benepar"  # in NLTK's data, or benepar's downloader will put it there
PARSER = "own-parser"  # location of a parser in a user's folder


class Parts(Entry):
    """Packages with the pieces of one zip of a model, in order, and the digest of the
    zip.
    """

    packages: tuple[str, ...] = Field(min_length=1)
    """Names in the package registry."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$")


class Model(Entry):
    """One entry of `resources/models.yaml`.

    ``package`` is a folder or GGUF file of an installed package, and ``sha256`` its
    digest as `pipeline.content.Contents` computes it; ``parts`` are several packages
    that contain the weights together.  ``nltk`` is a model of benepar in NLTK's data
    folders.  ``gated`` weights are only served to users who accepted their
    licence on the hub.  ``applied`` is the number of layers that share its
    ``parameters``; ``labels`` is the number of classes of a model that others
    fine-tuned for classification.  ``endpoint`` and ``max_length`` (tokens, including
    the answer) are those of a language model.  A server's model is the published one
    only at the ``hosts`` of its provider.  ``sample`` marks the models of ``models:
    sample``; on the sample's data the entry ``stand_in`` replaces the model.
    ``trained_on`` are the data sets here that its training data had a part of; without
    the key they are unknown.
    """

    kind: Kind
    """What it computes, such as `bi-encoder`."""
    architecture: Architecture | None = None
    """Kind of transformer, such as `bert`; rehearsals have a tiny model of it."""
    labels: int | None = Field(default=None, gt=1)
    licence: str
    """Licence of the weights."""
    use: str
    """What the tables use it for."""
    hub: str | None = None
    """Id on the hub; None for weights that are not there, and API models."""
    revision: str | None = Field(default=None, pattern="^[0-9a-f]{40}$")
    """Commit on the hub."""
    package: str | None = None
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    parts: Parts | None = None
    nltk: str | None = None
    parameters: int | None = Field(default=None, gt=0)
    applied: int = Field(default=1, gt=0)
    max_length: int | None = None
    endpoint: Literal["chat", "completions"] | None = None
    hosts: tuple[str, ...] = ()
    gated: bool = False
    sample: bool = False
    stand_in: str | None = None
    trained_on: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Weights:
    """Loadable weights, named in the same way on every machine; ``found`` describes
    where they were found.

    ``location`` is ``mirror:<name>``, ``package:<module>/<folder>`` or
    ``package:<name>``, ``nltk:<name>``, a hub id, the `own_location` of a user's model,
    a folder below the results, or a server's own name for it; ``revision`` is that of a
    hub id.  ``endpoint`` and ``window`` (tokens) are those of a language model.
    ``gguf`` names a GGUF file in a mirror that the registry does not name: it may be
    quantised, or another model.
    """

    location: str
    revision: str | None
    found: str
    endpoint: str | None = None
    window: int | None = None
    gguf: str = ""


@dataclass(frozen=True)
class Missing:
    """A model that cannot run, and the reason for the table."""

    reason: str


def load_models(path: str | Path) -> dict[str, Model]:
    """Read and check `resources/models.yaml`; `BadInput` names the entry and key of the
    first error.
    """
    models = entries(path, Model)
    for name in models:
        if name.startswith(user_rows.PREFIX):
            marks = "which marks a user's own models"
            what = f"{name} starts with {user_rows.PREFIX!r}, {marks}"
            raise BadInput(what, where=Path(path).name)
    return models


def resolve(
    name: str, model: Model, choice: Choice, mirrors: Sequence[Path], llm: str
) -> Weights | Missing:
    """Return the `Weights` of ``model`` under the config's choice of models, or
    `Missing` with a reason.

    A stand-in is in the sample's folder, which is a mirror of the sample's data only,
    so it never runs on a release.  In a rehearsal (``choice`` `tiny`) tiny models
    replace all of the registry's; they are in a mirror of the rehearsal only.  ``llm``
    is the address of the server of language models.
    """
    from lextables.models.files import reads_gguf
    from lextables.models.weights import NLTK, PACKAGE, cached, package_folder, place

    if model.kind in ("embedding-api", "language-model-api"):
        if choice == "sample":
            return Missing(SAMPLE_DATA)
        if not llm:
            return Missing(f"{name} needs a paid API, and config key llm is empty")
        return Weights(name, None, API)
    if choice == "tiny":
        if _mirror_folder(name, mirrors):
            return Weights(f"{MIRROR}{name}", None, REHEARSED)
        return Missing(f"{name} has no architecture in resources/models.yaml")
    if choice == "sample" and not model.sample:
        return Missing(SAMPLE_DATA)
    stand_in = model.stand_in
    if choice == "sample" and stand_in and _mirror_folder(stand_in, mirrors):
        return Weights(f"{MIRROR}{stand_in}", None, STANDS_IN)
    folder = _mirror_folder(name, mirrors)
    if folder:
        gguf = _unregistered_gguf(folder, model)
        return Weights(f"{MIRROR}{name}", None, "mirror folder", gguf=gguf)
    if model.package and package_folder(model.package):
        module = model.package.partition("/")[0]
        if model.package.endswith(".gguf") and not reads_gguf():
            why = "the package gguf is not installed here"
            return Missing(f"{name} is a GGUF file, and {why}")
        return Weights(f"{PACKAGE}{model.package}", None, f"installed package {module}")
    if model.parts and _assembled(name, model.parts):
        origin = f"installed package {model.parts.packages[0]} and its other parts"
        return Weights(f"{PACKAGE}{name}", None, origin)
    if model.nltk and (choice == "paper" or place(f"{NLTK}{model.nltk}")):
        return Weights(f"{NLTK}{model.nltk}", None, NLTK_HUB)
    if model.hub is None:
        return Missing(f"{name} is not available here")
    # Cached or not, the location is the same, so fetching a model triggers no rerun.
    if (choice == "paper" and not model.gated) or cached(model.hub, model.revision):
        return Weights(model.hub, model.revision, "hub")
    gate = "is a gated model and " if model.gated else ""
    return Missing(f"{model.hub} {gate}is not available here")


def served(model: Model, llm: str) -> bool:
    """Whether the server at the address ``llm`` is known to have the published
    ``model``.

    Another server (this machine, a private host, a gateway) may have another model of
    this name.
    """
    host = (urlsplit(llm).hostname or "").rstrip(".")
    return any(f".{host}".endswith(f".{official}") for official in model.hosts)


def _assembled(name: str, parts: Parts) -> str | None:
    """Return the folder of a model in several packages; None if one is missing."""
    from lextables.models.weights import assembled

    return assembled(name, parts.packages, parts.sha256)


def _mirror_folder(name: str, mirrors: Sequence[Path]) -> Path | None:
    """Return the folder of a model in the first mirror that has it, or None."""
    folders = (mirror / "models" / name for mirror in mirrors)
    return next((folder for folder in folders if _is_model(folder)), None)


def _is_model(folder: Path) -> bool:
    """Whether a folder of a mirror has a model."""
    return (folder / "config.json").is_file() or any(folder.glob("*.gguf"))


def _unregistered_gguf(folder: Path, model: Model) -> str:
    """Return the name of the GGUF file that is loaded from a folder; empty for other
    weights, and for the registered file.
    """
    if (folder / "config.json").is_file():
        return ""
    names = sorted(file.name for file in folder.glob("*.gguf"))
    _, _, registered = (model.package or "").rpartition("/")
    return "" if names == [registered] else names[0]


def resolve_extra(
    extra: ExtraModel, choice: Literal["sample", "available", "paper"]
) -> Weights:
    """Return the weights of a user's own model: a folder or file if one of that name
    exists, else a hub id.

    Unless ``choice`` is `paper`, the revision of a cached hub model is the cached
    commit.  A server's model is identified by its name.
    """
    endpoint = extra.endpoint
    if extra.kind == "language-model-api":
        return Weights(extra.model, None, API, endpoint)
    if Path(extra.model).exists():
        origin = "folder" if Path(extra.model).is_dir() else "file"
        return Weights(own_location(extra), None, origin, endpoint)
    revision = extra.revision
    if choice != "paper":
        folder = _cached_extra(extra)
        revision = folder.name if folder else revision
    return Weights(own_location(extra), revision, f"hub, {extra.model}", endpoint)


def own_location(extra: ExtraModel) -> str:
    """Return the location of the weights of a user's model: its key, followed by the id
    of a model on the hub.

    What was computed with the weights of one id is not found for another under the same
    name, whose branches have the same names.
    """
    if Path(extra.model).exists():
        return extra.key
    return f"{extra.key}@{extra.model}"


def _cached_extra(extra: ExtraModel) -> Path | None:
    """Return the folder of a user's model in the hub's cache; None if it is missing."""
    from huggingface_hub.errors import HFValidationError

    from lextables.models.weights import cached

    try:
        folder = cached(extra.model, extra.revision)
    except HFValidationError:
        return None  # no id of the hub; `inspection` reports it
    return Path(folder) if folder else None


def places(
    config: Config, models: Mapping[str, Model], mirrors: Sequence[Path]
) -> dict[str, dict[str, str]]:
    """Return {location (`Weights.location`): its place on this machine}.

    A place has the key ``folder`` (also for a GGUF file) if the weights are here.
    Models of the hub have the keys ``hub``, their id, and ``kind``, with which they are
    checked after fetching.  Models in one package are not included.
    """
    from lextables.models.weights import PACKAGE, cached

    folders: dict[str, str | Path | None] = {}
    result: dict[str, dict[str, str]] = {}
    for name, model in models.items():
        folders[f"{MIRROR}{name}"] = _mirror_folder(name, mirrors)
        if model.hub:
            result[model.hub] = {"hub": model.hub, "kind": model.kind}
            folders[model.hub] = cached(model.hub, model.revision)
        if config.models != "sample" and model.parts:
            folders[f"{PACKAGE}{name}"] = _assembled(name, model.parts)
    for extra in config.extra_models:
        if extra.kind == "language-model-api":
            continue
        path = Path(extra.model)
        location = own_location(extra)
        folders[location] = path.resolve() if path.exists() else _cached_extra(extra)
        if not folders[location]:
            result[location] = {"hub": extra.model, "kind": extra.kind}
    parser = Path(config.parser)
    folders[PARSER] = parser.resolve() if parser.is_dir() else None
    for location, folder in folders.items():
        if folder:
            result.setdefault(location, {})["folder"] = str(folder)
    return result


def model_settings(name: str, weights: Weights) -> JsonObject:
    """Return the settings of a run that identify its weights, and a language model's
    endpoint and window.
    """
    settings: JsonObject = {
        "model": name,
        "weights": weights.location,
        "revision": weights.revision,
        "found": weights.found,
    }
    if weights.endpoint is not None:
        settings["endpoint"] = weights.endpoint
    if weights.window is not None:
        settings["window"] = weights.window
    return settings


def find(
    name: str, config: Config, models: Mapping[str, Model], mirrors: Sequence[Path]
) -> Weights | Missing:
    """Return the weights of the registered model ``name``.

    A model that only its provider serves is `Missing` on another server.  The weights
    of a language model also get its endpoint and its window.
    """
    if name not in models:
        do = did_you_mean(name, models) or "add an entry for it"
        raise BadInput(f"there is no model {name!r}", where="models.yaml", do=do)
    model = models[name]
    weights = resolve(name, model, config.weights, mirrors, config.llm)
    if isinstance(weights, Missing):
        return weights
    # The server of a rehearsal stands for every provider.
    rehearsed = config.weights == "tiny"
    if weights.found == API and not (rehearsed or served(model, config.llm)):
        hosts = " or ".join(model.hosts) or "no known server"
        return Missing(f"{name} is only served by {hosts}, and llm is another server")
    if not model.kind.startswith("language-model"):
        return weights
    if weights.found == STANDS_IN and model.stand_in:
        model = models[model.stand_in]
    return replace(weights, endpoint=model.endpoint, window=model.max_length)
