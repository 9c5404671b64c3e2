"""Settings of AdamW and of the learning rate, which each grid states as its paper or
released code does.
"""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt, model_validator

from lextables.pipeline.entries import Entry
from lextables.pipeline.files import JsonObject

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Beta = Annotated[float, Field(ge=0, lt=1)]
Share = Annotated[float, Field(gt=0, lt=1)]


class Optimiser(Entry):
    """AdamW and the course of the learning rate.  No value has a default.

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
