"""Settings of AdamW and of the learning rate, which each grid states as its paper or released code does."""

from typing import Annotated, Literal

from pydantic import Field, NonNegativeInt

from lextables.pipeline.files import JsonObject
from lextables.pipeline.registry import Entry

SCHEDULES = {
    "constant": "constant_with_warmup",
    "linear": "linear",
}  # transformers' names
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Beta = Annotated[float, Field(ge=0, lt=1)]


class Optimiser(Entry):
    """AdamW and the course of the learning rate.  No value has a default.

    ``weight_decay`` applies to the ``decayed`` parameters: `all`, or `weights`, which leaves out biases and
    normalisation layers.  ``clip`` is the highest norm of the gradients of an update (null: no limit).  The
    rate rises over the first ``warmup`` updates, then stays or, with a `linear` ``schedule``, falls to 0.
    """

    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    decayed: Literal["all", "weights"]
    betas: tuple[Beta, Beta]
    epsilon: Positive
    clip: Positive | None
    schedule: Literal["constant", "linear"]
    warmup: NonNegativeInt

    def arguments(self, learning_rate: float) -> JsonObject:
        """Return the arguments of transformers' trainers for these settings."""
        return {
            "learning_rate": learning_rate,
            "weight_decay": self.weight_decay,
            "adam_beta1": self.betas[0],
            "adam_beta2": self.betas[1],
            "adam_epsilon": self.epsilon,
            "max_grad_norm": self.clip or 0.0,
            "lr_scheduler_type": SCHEDULES[self.schedule],
            "warmup_steps": self.warmup,
        }
