"""Classes of settings that several tasks have: built by planners, stored in `run.json`,
read by scripts.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from lextables.pipeline.entries import Entry
from lextables.pipeline.files import JsonObject

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, lt=1)]


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


class Optimiser(Entry):
    """AdamW and the course of the learning rate, as the paper or its released code
    states them.  No value has a default.

    ``weight_decay`` applies to the ``decayed`` parameters: `all`, or `weights`, which
    leaves out biases and normalisation layers.  ``clip`` is the highest norm of the
    gradients of an update (null: no limit).

    The rate rises over the first ``warmup`` updates (a fraction is a share of the
    training's updates), then stays if the ``schedule`` is `constant`, or falls to 0 if
    it is `linear`.  With `one_cycle` it is that of torch's OneCycleLR with linear
    steps: it rises from 1/25 of the highest rate and falls to almost 0, while beta 1
    falls from 0.95 to 0.85 and rises again, whatever ``betas`` states.
    """

    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    decayed: Literal["all", "weights"]
    betas: tuple[Beta, Beta]
    epsilon: Positive
    clip: Positive | None
    schedule: Literal["constant", "linear", "one_cycle"]
    warmup: NonNegativeInt | Share

    @model_validator(mode="after")
    def _check_warmup(self) -> "Optimiser":
        if self.schedule == "one_cycle" and not isinstance(self.warmup, float):
            raise ValueError("one_cycle needs a warmup between 0 and 1, a share")
        return self

    def warmup_updates(self, updates: int) -> int:
        """Return over how many of a training's ``updates`` the rate rises; a share is
        rounded down.
        """
        if isinstance(self.warmup, float):
            return int(self.warmup * updates)
        return self.warmup

    def arguments(self, learning_rate: float) -> JsonObject:
        """Return the arguments of transformers' trainers, except for the schedule
        (`InParts`).
        """
        return {
            "learning_rate": learning_rate,
            "weight_decay": self.weight_decay,
            "adam_beta1": self.betas[0],
            "adam_beta2": self.betas[1],
            "adam_epsilon": self.epsilon,
            "max_grad_norm": self.clip or 0.0,
        }


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
