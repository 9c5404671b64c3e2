"""Base classes of settings: built by planners, stored in `run.json`, read by
scripts.
"""

import math
from collections.abc import Sequence

from pydantic import NonNegativeInt, PositiveInt

from lextables.models.optimiser import Optimiser
from lextables.pipeline.entries import Entry
from lextables.pipeline.files import JsonObject


class StepSettings(Entry):
    """The settings of one step of a run, such as a training.

    Unknown keys are errors.
    """

    def plain(self) -> JsonObject:
        """Return the settings that were given, without defaults, as values of JSON."""
        return self.model_dump(mode="json", exclude_unset=True)


class WeightSettings(StepSettings):
    """The weights that a step starts from, as `resolve.model_settings` names them."""

    model: str
    """Name in resources/models.yaml, key of a user's model, or key of the panel."""
    weights: str
    """Hub name, place in a mirror or a package, or the folder of another run."""
    revision: str | None
    """Revision on the hub; None for weights that are not from the hub."""
    found: str
    """Where the weights were found, in words."""
    content: str | None = None
    """Digest of weights in a folder of the user."""


class LanguageModelSettings(WeightSettings):
    """A language model on this machine or on a server."""

    kind: str
    """`language-model`."""
    endpoint: str | None = None
    """`chat` (the default) or `completions`."""
    window: int | None = None
    """Longest prompt and answer together, in tokens; None if unknown."""
    api: str | None = None
    """Base address of the server; None for a model on this machine."""


def limited_updates(updates: Sequence[int], most: int | None) -> list[int]:
    """Return numbers of updates, at most ``most``, without repetitions.

    Several numbers stay several: they are spread evenly up to ``most``.
    """
    if most is None:
        return list(updates)
    limited = set()
    for rank, number in enumerate(sorted(updates), 1):
        limited.add(min(number, math.ceil(most * rank / len(updates))))
    return sorted(limited)


class UpdateSettings(StepSettings):
    """The updates of a fine-tuning of a sentence or cross-encoder (ACORD, F.2)."""

    learning_rate: float
    """Highest learning rate of AdamW."""
    updates: tuple[PositiveInt, ...]
    """Numbers of updates after which the model is visited; the highest ends the
    training.
    """
    batch_size: PositiveInt
    """Pairs of an update."""
    optimiser: Optimiser
    """AdamW and the course of the learning rate."""
    bf16: bool = False
    """Mixed precision with bfloat16 on a CPU; GPUs that support it always use it."""
    save_every: NonNegativeInt = 0
    """Updates between checkpoints; 0: none."""
    temperature: float = 1.0
    """By which a bi-encoder's cosines are divided in its loss."""
