"""Which encoder chooses the pools of LawngNLI's retrieval data set (Section 4.2)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lextables.models.resolve import Model, Weights, model_settings, resolve
from lextables.papers.lawngnli.registry import Lawngnli
from lextables.pipeline.config import Config
from lextables.pipeline.errors import BadInput


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
