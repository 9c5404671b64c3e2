"""The settings of fine-tuning on a retrieval data set."""

from typing import Literal

from pydantic import PositiveInt

from lextables.models.settings import UpdateSettings, WeightSettings


class TuningSettings(WeightSettings, UpdateSettings):
    """A training with one learning rate: the weights that it starts from, and its
    updates.
    """

    kind: Literal["cross-encoder", "bi-encoder"]
    """The kind of model."""
    grid: str
    """The name of the grid that the settings are from."""
    max_length: PositiveInt
    """Tokens at which a text or pair is truncated."""
    documents: PositiveInt = 1
    """Documents for each query of a batch, for a bi-encoder."""
