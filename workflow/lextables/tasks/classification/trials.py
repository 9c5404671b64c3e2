"""Trials of a grid: the learning rate and updates of each head, or of all heads together."""

from collections.abc import Iterable, Mapping
from typing import Any

JOINT = "all heads"
Trial = Mapping[str, Any]  # learning_rate, and updates: when the model is read


def trials(
    settings: Mapping[str, Any], heads: Iterable[str], choice: Mapping[str, Trial] | None = None
) -> dict[str, Trial]:
    """Return the trial of each head, or of `JOINT` for a multi-task model.

    Heads missing from ``choice`` (no search could score them), or all without a choice, use the run's
    settings.
    """
    own = {name: settings[name] for name in ("learning_rate", "updates")}
    names = [JOINT] if settings["setting"] == "multi" else sorted(heads)
    return {name: (choice or {}).get(name, own) for name in names}
