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
    """Weight of the logits of vector models; the logits of word models have the weight
    1 - share.
    """
    max_length: PositiveInt = 64
    """Tokens of a segment that its vector is made of, at most."""


class LinearRun(LinearSettings):
    """The training of a linear model, or the prediction with it."""

    kind: Literal["linear"] = "linear"
    """Distinguishes the run from runs of fine-tuned models."""
    features: Literal["words", "vectors", "both"]
    """The features by which segments are scored."""
    relaxed: str | None
    """In categories whose name contains this text, a candidate that contains an answer
    is also correct; None: in no category.
    """
    percent: PositiveInt
    """Per cent of the training contracts."""
    out_of_fold: bool = False
    """Whether the training also saves predictions for its own contracts."""
    model: str | None = None
    """The encoder of the vectors; None: words only.

    This field and the next ones are as in `WeightSettings`, or None without an encoder.
    """
    weights: str | None = None
    """Hub name, place or folder of the encoder's weights."""
    revision: str | None = None
    """Revision on the hub."""
    found: str | None = None
    """Where the weights were found, in words."""
    content: str | None = None
    """Digest of weights in a folder of the user."""
