"""What is tried of a grid: the learning rate and updates of each head, or of all heads together."""

from collections.abc import Iterable, Mapping
from typing import Any

JOINT = "all heads"
Trial = Mapping[str, Any]  # learning_rate, and updates: the numbers of them at which a model is read


def trials(
    settings: Mapping[str, Any], heads: Iterable[str], choice: Mapping[str, Trial] | None = None
) -> dict[str, Trial]:
    """Return the trial of each head, or that of `JOINT` for a multi-task model.

    The ``choice`` may lack a head that no search could score: it takes the run's own settings, as all do
    without a choice.
    """
    own = {name: settings[name] for name in ("learning_rate", "updates")}
    names = [JOINT] if settings["setting"] == "multi" else sorted(heads)
    return {name: (choice or {}).get(name, own) for name in names}
