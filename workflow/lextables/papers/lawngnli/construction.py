"""What LawngNLI is built from under a configuration: volumes, parser and models.

Computed while a run is planned; nothing here reads a volume or loads a model.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lextables.corpora.caselaw.fetching import BULK
from lextables.corpora.caselaw.volumes import ALL, Collection, read_collection, shards
from lextables.models.resolve import (
    NLTK_HUB,
    PARSER,
    Missing,
    Model,
    Weights,
    model_settings,
    resolve,
)
from lextables.models.weights import place
from lextables.papers.lawngnli.entry import Lawngnli
from lextables.pipeline.config import Choice, Config
from lextables.pipeline.content import Contents
from lextables.pipeline.errors import BadInput
from lextables.sources.entries import Registry
from lextables.sources.entries import resolve as resolve_source
from lextables.sources.fetch import manual_download

SMALL_SHARD = 10  # volumes
LARGE_SHARD = 100
MAX_SMALL_SHARDS = 400  # if there would be more, shards are large
DEFAULT_VOLUMES: tuple[str, ...] = Config.model_fields["caselaw"].default


# Settings of a parser, an encoder or a classifier: which model it is and where its
# weights are (`resolve.model_settings`).
Settings = dict[str, Any]


@dataclass(frozen=True)
class Construction:
    """What a data set is built from."""

    shards: dict[str, list[str]]
    """{shard: its volumes, `<reporter>/<volume>`}, or one file of the bulk export."""
    parser: Settings
    """Settings of the parser, with its ``name`` (`parsers.parser`) in addition.
    ``weights`` is None for spaCy's dependencies, which need no weights.
    """
    encoder: Settings
    """Settings of the encoder that chooses Neutral premises."""


def construction(
    config: Config, paper: Lawngnli, models: Mapping[str, Model], root: Path
) -> Construction:
    """Choose volumes, parser and encoder.

    Raises `BadInput` for impossible volumes, and for a missing parser or encoder.
    """
    mirrors = config.mirrors(root)
    collection = read_collection(mirrors, Path(config.results, "sources/caselaw"))
    return Construction(
        shards=_shards(config, paper, collection),
        parser=_parser(config, paper, models, mirrors),
        encoder=_encoder(config, paper, models, mirrors),
    )


def other_parser(built: Construction, config: Config, paper: Lawngnli) -> str:
    """Return a sentence on the parser that ``parser: auto`` chose; empty if it is the
    paper's.

    The sample never has the paper's parser, and says nothing.
    """
    papers_parser = paper.parsers[0]
    model = built.parser["model"]
    if config.parser != "auto" or config.data == "sample" or model == papers_parser:
        return ""
    return (
        f"LawngNLI's hypotheses are parsed with {model}, because {papers_parser}, the paper's parser, is not "
        f"on this machine. To use it, {_download_of(papers_parser)}; to keep {model}, set parser."
    )


def _download_of(parser: str) -> str:
    """Return what a user does to download a parser of benepar."""
    return f"run {sys.executable} -c \"import benepar; benepar.download('{parser}')\""


def parser_settings(construction: Construction, contents: Contents) -> Settings:
    """Return the settings of the parser, with the digest of its model's folder.

    A model in NLTK's data folders has no digest: its name says which one it is.
    """
    settings = dict(construction.parser)
    if settings["weights"] and settings["found"] != NLTK_HUB:
        folder = place(settings["weights"])
        assert folder is not None  # a parser that was found
        settings["content"] = contents.folder(folder)
    return settings


def released_masks(config: Config, sources: Registry, root: Path) -> list[str]:
    """Return the path of the authors' filter file; nothing if it is not available."""
    registered = resolve_source(sources, "lawngnli_ids", "LawngNLI_filter.xz")
    path = Path(config.results, "sources", registered.name)
    variants = registered.variants_for(config.data)
    missing = manual_download(registered, config.mirrors(root), variants)
    return [] if missing and not path.is_file() else [str(path)]


def _shards(
    config: Config, paper: Lawngnli, collection: Collection
) -> dict[str, list[str]]:
    """The volumes of each shard, from the config or a default.

    Shards of the released data set have other names, because only the volumes with a
    case of the ID file are fetched for them.
    """
    released = config.lawngnli_data == "released"
    if released and config.data == "sample":
        what = (
            "lawngnli_data = 'released' needs data=release: the sample has no ID files"
        )
        raise BadInput(
            what, where="config", do="set data to release, or lawngnli_data to built"
        )
    if released and config.bulk_export:
        return _bulk_shards(config.bulk_export)
    ranges = config.caselaw
    if config.data == "sample":
        ranges = paper.sample_volumes
    # The released examples may be from any reporter.
    if released and ranges == DEFAULT_VOLUMES and collection.listed:
        ranges = (ALL,)
    # Without a list of volumes and without a mirror, the registry says which there are.
    if ranges == DEFAULT_VOLUMES and not collection.knows(*DEFAULT_VOLUMES):
        ranges = paper.default_volumes
    volumes_of = _sized_shards(ranges, config.volumes_a_job, collection)
    if not released:
        return volumes_of
    return {f"released-{name}": volumes for name, volumes in volumes_of.items()}


def _bulk_shards(bulk_export: str) -> dict[str, list[str]]:
    """A shard for each file of the former bulk export."""
    files: list[Path] = []
    for suffix in BULK:
        files += Path(bulk_export).glob(f"*{suffix}")
    if not files:
        raise BadInput(
            f"bulk_export = {bulk_export!r} is not a folder with .jsonl or .jsonl.xz files",
            where="config",
            do="give the folder of the Caselaw Access Project's former bulk export",
        )
    names = sorted(file.name for file in files)
    return {f"released-{name.replace('.', '-')}": [name] for name in names}


def _sized_shards(
    ranges: Sequence[str], size: int | Literal["auto"], collection: Collection
) -> dict[str, list[str]]:
    """The shards of ``size`` volumes; with `auto` they have `SMALL_SHARD` volumes, or
    `LARGE_SHARD` if there would be too many shards.
    """
    if size != "auto":
        return shards(ranges, size, collection)
    small_shards = shards(ranges, SMALL_SHARD, collection)
    if len(small_shards) > MAX_SMALL_SHARDS:
        return shards(ranges, LARGE_SHARD, collection)
    return small_shards


def _parser(
    config: Config,
    paper: Lawngnli,
    models: Mapping[str, Model],
    mirrors: Sequence[Path],
) -> Settings:
    """The settings of the parser that the config names.

    `auto` is the first available parser of the paper's list, or spaCy's dependencies if
    none is available; for the sample it is always spaCy's dependencies.
    """
    dependencies = {
        "name": "dependencies",
        "model": "spaCy's dependencies",
        "weights": None,
        "found": "",
    }
    if config.parser == "dependencies":
        return dependencies
    if config.parser == "auto" and config.data == "sample":
        return dependencies
    if config.parser in ("auto", "benepar"):
        choice: Choice = "paper" if config.models == "paper" else "available"
        available = _first_available(paper.parsers, models, choice, mirrors)
        if available is not None:
            return {"name": "benepar", **model_settings(*available)}
        if config.parser == "auto":
            return dependencies
        raise BadInput(
            "parser = 'benepar' but no benepar model is in NLTK's data or the mirror's models folder",
            where="config",
            do=f"{_download_of(paper.parsers[0])}, or set parser to a model folder, to dependencies or to auto",
        )
    folder = Path(config.parser)
    if not folder.is_dir():
        raise BadInput(
            f"parser = {config.parser!r} is neither auto, benepar, dependencies nor a folder",
            where="config",
            do="use one of these, or the folder of a benepar model",
        )
    if not (folder / "benepar_model.bin").is_file():
        raise BadInput(
            f"parser = {config.parser!r} is a folder without benepar_model.bin",
            where="config",
            do="give the folder of a benepar model",
        )
    return {
        "name": "benepar",
        "model": folder.name,
        "weights": PARSER,
        "found": "folder",
    }


def _encoder(
    config: Config,
    paper: Lawngnli,
    models: Mapping[str, Model],
    mirrors: Sequence[Path],
) -> Settings:
    """The settings of the encoder that the config names; `auto` is the first available
    one of the paper's list.
    """
    names = paper.encoders if config.encoder == "auto" else (config.encoder,)
    unknown = [name for name in names if name not in models]
    if unknown:
        what = f"encoder = {unknown[0]!r} is not in resources/models.yaml"
        raise BadInput(
            what,
            where="config",
            do="use a bi-encoder listed there, or set encoder to auto",
        )
    available = _first_available(names, models, config.weights, mirrors)
    if available is not None:
        return model_settings(*available)
    raise BadInput(
        f"encoder = {config.encoder!r} is not available here",
        where="config",
        do="set encoder to auto",
    )


def pool_encoder(
    config: Config, paper: Lawngnli, models: Mapping[str, Model], root: Path
) -> Settings:
    """Return the settings of the first available encoder of the registry's
    ``pool_encoders``.

    Raises `BadInput` if none is available.
    """
    mirrors = config.mirrors(root)
    available = _first_available(paper.pool_encoders, models, config.weights, mirrors)
    if available is not None:
        max_length = models[available[0]].max_length
        return {**model_settings(*available), "max_length": max_length}
    raise BadInput(
        f"LawngNLI's pools need one of {', '.join(paper.pool_encoders)}, and none is available here",
        where="models",
        do="install one, or remove lawngnli from papers",
    )


def inference_model(
    config: Config, paper: Lawngnli, models: Mapping[str, Model], root: Path
) -> Settings:
    """Return the settings of the classifier for the target `lawngnli_inference`.

    If the classifier is not available, they are its name and ``missing``, the setting
    of the configuration under which it is missing.
    """
    name = paper.inference_model
    weights = resolve(name, models[name], config.weights, config.mirrors(root), "")
    if isinstance(weights, Missing):
        return {"model": name, "missing": f"models={config.models}"}
    settings = model_settings(name, weights)
    return {**settings, "max_length": models[name].max_length}


def inference_examples(examples: str, model: Settings) -> str:
    """Return ``examples``, the input of the rule that predicts their labels.

    Raises `BadInput` if its ``model`` (`inference_model`) is not available.
    """
    if "missing" not in model:
        return examples
    mirror = "put its files into the folder models of a mirror"
    raise BadInput(
        f"the model of inference is not available with {model['missing']}",
        where=model["model"],
        do=f"set models to paper, or {mirror} and set models to available",
    )


def _first_available(
    names: Sequence[str],
    models: Mapping[str, Model],
    choice: Choice,
    mirrors: Sequence[Path],
) -> tuple[str, Weights] | None:
    """The name and the weights of the first of these models that is available."""
    for name in names:
        weights = resolve(name, models[name], choice, mirrors, "")
        if isinstance(weights, Weights):
            return name, weights
    return None
