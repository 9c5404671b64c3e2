"""Settings of the linear baseline.

They have a file of their own, so that the planner does not import scikit-learn.
"""

from typing import Literal

from pydantic import Field, PositiveInt

from lextables.models.settings import StepSettings


class LinearSettings(StepSettings):
    """The linear baseline.

    Its first models score segments (sentences or lines), the second ones candidate
    spans of the most probable segments.  The third stage, trees, has no settings here.
    The values in the papers' files were chosen by cross-validation over the training
    contracts.  A higher L2 penalty, or a lower inverse one, gives smaller weights.
    """

    folds: int = Field(ge=2)
    """Parts of the contracts for out-of-fold predictions."""
    alpha: float
    """L2 penalty of the segment models that read words (TF-IDF)."""
    epochs: PositiveInt
    """Passes over the segments when such a model is trained."""
    units: PositiveInt
    """Most probable segments of a contract from which a question takes candidates."""
    penalty: float
    """Inverse L2 penalty (scikit-learn's C) of the candidate models."""
    near: float
    """Inverse L2 penalty on the difference between a category's candidate model and the
    model that similar categories share (`models.linear.fit_near`).
    """
    n_best: PositiveInt
    """Spans of a question, at most."""
    dense: float = 1.0
    """Inverse L2 penalty of the segment models that read vectors."""
    share: float = Field(default=0.5, ge=0, le=1)
    """Weight of the vector models' logits; those of the word models have 1 - share."""
    max_length: PositiveInt = 64
    """Tokens of a segment that its vector is made of, at most."""


class LinearRun(LinearSettings):
    """The training of a linear model, or the prediction with it."""

    kind: Literal["linear"] = "linear"
    """Distinguishes the run from those of fine-tuned models."""
    features: Literal["words", "vectors", "both"]
    """What segments are scored by."""
    relaxed: str | None
    """In categories whose name contains this text, a candidate that contains an answer
    is also correct; None: in no category.
    """
    percent: PositiveInt
    """Per cent of the training contracts."""
    out_of_fold: bool = False
    """Whether the training also saves predictions for its own contracts."""
    model: str | None = None
    """The encoder of the vectors (`WeightSettings`); None: words only."""
    weights: str | None = None
    """As in `WeightSettings`; None without an encoder."""
    revision: str | None = None
    """As in `WeightSettings`."""
    found: str | None = None
    """As in `WeightSettings`; None without an encoder."""
    content: str | None = None
    """As in `WeightSettings`."""
