"""What a run was set to and what it took, from its `run.json`, as a table says it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lextables.tables.render import duration


def record(root: Path, folder: str) -> dict[str, Any]:
    """Return the `run.json` of the run in ``folder`` below ``root``."""
    return json.loads((root / folder / "run.json").read_text(encoding="utf-8"))


def time_in_words(records: Sequence[Mapping[str, Any]]) -> str:
    """The time of a row's runs together, and the device."""
    devices = ", ".join(dict.fromkeys(run["device"] for run in records))
    seeds = f"{len(records)} seeds, " if len(records) > 1 else ""
    return f"{seeds}{duration(sum(run['seconds'] for run in records))} on {devices}"


def span_settings_in_words(run: Mapping[str, Any]) -> str:
    """Return what the score of a span-extraction run depends on."""
    settings = run["settings"]
    words = ["not trained here"]
    if point := run.get("point"):
        epochs = "1 epoch" if point["epochs"] == 1 else f"{point['epochs']} epochs"
        best = (
            f", the best of {n} settings on held-out contracts" if (n := len(settings["points"])) > 1 else ""
        )
        words = [
            f"learning rate {point['learning_rate']:g} for {epochs}{best}",
            f"{run['updates']} updates of {settings['batch_size']} windows",
        ]
    words.append(f"windows of {settings['max_length']} tokens, {settings['step']} apart")
    if settings["windows_per_question"] is not None:
        words.append(f"{settings['windows_per_question']} windows of a contract a question")
    if settings["bf16"]:
        words.append("bfloat16")
    return f"grid {settings['grid']}: {', '.join(words)}"
