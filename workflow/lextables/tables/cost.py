"""The record of a run, its `run.json`, for the tables."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def record(root: Path, folder: str) -> dict[str, Any]:
    """Return the `run.json` of the run in ``folder`` below ``root``."""
    return json.loads((root / folder / "run.json").read_text(encoding="utf-8"))


def training(run: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the record of the training behind a run: that of the run whose weights it read, or its own.

    Of a run that read the weights of several it is that of the first.
    """
    found = run.get("trained", run)
    return found[0] if isinstance(found, list) else found
