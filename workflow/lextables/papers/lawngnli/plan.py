"""How LawngNLI is built under a configuration: its volumes, parser and encoders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lextables.corpora.caselaw.volumes import known, shards
from lextables.models.resolve import PARSER, Model, Weights, model_settings, resolve
from lextables.papers.lawngnli.registry import Lawngnli
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput

DEFAULT: tuple[str, ...] = Config.model_fields["caselaw"].default


@dataclass(frozen=True)
class Construction:
    """``shards`` maps a shard's name to its volumes (`<reporter>/<volume>`); the rest is plain settings."""

    shards: dict[str, list[str]]
    parser: dict[str, Any]
    encoder: dict[str, Any]


def construction(config: Config, paper: Lawngnli, models: Mapping[str, Model], root: Path) -> Construction:
    """Choose volumes, parser and encoder.

    Raises `BadInput` for volumes that there cannot be, and a parser or encoder that is missing.
    """
    mirrors = config.mirrors(root)
    collection = known(mirrors, Path(config.results, "sources/caselaw"))
    ranges = paper.sample_volumes if config.data == "sample" else config.caselaw
    if ranges == DEFAULT and not collection.knows(*DEFAULT):
        ranges = paper.default_volumes
    return Construction(
        shards(ranges, config.volumes_a_job, collection),
        _parser(config, paper, models, mirrors),
        _encoder(config, paper, models, mirrors),
    )


def _parser(
    config: Config, paper: Lawngnli, models: Mapping[str, Model], mirrors: Sequence[Path]
) -> dict[str, Any]:
    dependencies = {"name": "dependencies", "model": None, "found": "spaCy's dependencies"}
    if config.parser == "dependencies" or (config.parser == "auto" and config.data == "sample"):
        return dependencies
    if config.parser in ("auto", "benepar"):
        for name in paper.parsers:
            found = resolve(name, models[name], "available", mirrors, "")
            if isinstance(found, Weights):
                return {"name": "benepar", "model": found.location, "found": name}
        if config.parser == "auto":
            return dependencies
        raise BadInput(
            "parser = 'benepar' but no benepar model is in the mirror's models folder",
            where="config",
            do="set parser to a model folder, to dependencies or to auto",
        )
    folder = Path(config.parser).expanduser()
    if not folder.is_dir():
        raise BadInput(
            f"parser = {config.parser!r} is neither auto, benepar nor dependencies nor a folder",
            where="config",
            do="name one of these, or the folder of a benepar model",
        )
    if not (folder / "benepar_model.bin").is_file():
        raise BadInput(
            f"parser = {config.parser!r} is a folder without benepar_model.bin",
            where="config",
            do="name the folder of a benepar model",
        )
    return {"name": "benepar", "model": PARSER, "found": folder.name}


def _encoder(
    config: Config, paper: Lawngnli, models: Mapping[str, Model], mirrors: Sequence[Path]
) -> dict[str, Any]:
    names = paper.encoders if config.encoder == "auto" else (config.encoder,)
    for name in names:
        if name not in models:
            what = f"encoder = {name!r} is not in resources/models.yaml"
            raise BadInput(what, where="config", do="name a bi-encoder of it, or set encoder to auto")
        found = resolve(name, models[name], config.models, mirrors, "")
        if isinstance(found, Weights):
            return {
                "model": name,
                "weights": found.location,
                "revision": found.revision,
                "found": found.found,
            }
    raise BadInput(
        f"encoder = {config.encoder!r} is not available here", where="config", do="set encoder to auto"
    )


def pool_encoder(config: Config, paper: Lawngnli, models: Mapping[str, Model], root: Path) -> dict[str, Any]:
    """Return the settings of the first of the registry's ``pool_encoders`` that is to be had.

    Raises `BadInput` where none is.
    """
    for name in paper.pool_encoders:
        found = resolve(name, models[name], config.models, config.mirrors(root), "")
        if isinstance(found, Weights):
            return model_settings(name, found) | {"max_length": models[name].max_length}
    raise BadInput(
        f"none of {', '.join(paper.pool_encoders)} is available here, which choose LawngNLI's pools",
        where="models",
        do="install one, or leave lawngnli out of papers",
    )
