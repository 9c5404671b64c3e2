"""The settings of models that answer questions or mark paragraphs.

`Learning` and `Marking` are the parts that a paper's registry sets; the other classes
are the settings of a run.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, PositiveFloat, PositiveInt

from lextables.models.settings import (
    LanguageModelSettings,
    StepSettings,
    WeightSettings,
)
from lextables.pipeline.entries import Entry

WHOLE_DOCUMENT = "whole"


class Learning(Entry):
    """Settings of trained answers (`baselines.linear_answers`), in a paper's
    registry.
    """

    best: tuple[PositiveInt, ...] = Field((2, 20), min_length=1)
    """Numbers of most similar paragraphs, whose means are the features."""
    penalties: tuple[PositiveFloat, ...] = Field(
        (0.001, 0.01, 0.1, 1.0, 10.0, 100.0), min_length=1
    )
    """Inverse strengths of the penalty; each fold's is chosen on the other folds."""


class Marking(Entry):
    """Settings of trained marks (`baselines.linear_marks`), in a paper's registry."""

    longest: PositiveInt = 2
    """The largest number of words of an n-gram."""
    least: PositiveInt = 5
    """The minimum number of paragraphs that have an n-gram."""
    alpha: PositiveFloat = 1e-6
    """The strength of the penalty (larger is stronger), as in
    `models.linear.fit_many`.
    """
    epochs: PositiveInt = 5
    """The number of passes over the paragraphs."""


class FixedSettings(StepSettings):
    """The settings of a run that learns nothing."""

    kind: Literal["random", "never", "overlap"]
    """The kind of model, described in `planner.Panel` and `planner.Marker`."""


class PriorSettings(StepSettings):
    """The settings of a run whose answers are learnt from other documents' answers."""

    kind: Literal["prior", "linear", "vectors"] = "prior"
    """The kind of model, described in `planner.Panel`."""
    pseudo: float
    """The number of additional documents with equal shares of all options."""
    smoothing: float
    """The share of each answer that is spread over all options."""


class LearningSettings(PriorSettings, Learning):
    """The settings of a run with trained answers."""

    folds: int
    """The number of folds of the documents."""


class EncoderSettings(WeightSettings):
    """The settings of a run with vectors of paragraphs and questions."""

    kind: Literal["vectors"] = "vectors"
    """The kind of model, described in `planner.Marker`."""
    max_length: PositiveInt | None
    """The maximum length of an encoded text in tokens; None for the model's own."""


class EncodedLearning(LearningSettings, EncoderSettings):
    """The settings of a run with answers that are trained on vectors."""


class MarkingSettings(StepSettings, Marking):
    """The settings of a run with trained marks."""

    kind: Literal["linear"] = "linear"
    """The kind of model, described in `planner.Marker`."""
    folds: int
    """The number of folds of the documents."""


class AskingSettings(StepSettings):
    """The settings of questions to a language model."""

    prompt: list[list[str]]
    """The parts of the prompt (`models.prompts`)."""
    text: Literal["whole", "retrieved"] = "retrieved"
    """Whether the model reads the whole document or its ``best`` paragraphs."""
    best: int = 0
    """The number of most similar paragraphs: those that an answering model reads, or
    those that a marking model is asked about.
    """
    orders: int
    """The number of orders of the options."""
    samples: int
    """The number of sampled answers of a model without probabilities."""


class AskingRun(LanguageModelSettings, AskingSettings):
    """The settings of a run with a language model."""


# The settings of each kind of model that answers, and of each that marks.
ANSWERING: Mapping[str, type[StepSettings]] = {
    "random": FixedSettings,
    "prior": PriorSettings,
    "linear": LearningSettings,
    "vectors": EncodedLearning,
    "language-model": AskingRun,
}
MARKING: Mapping[str, type[StepSettings]] = {
    "never": FixedSettings,
    "random": FixedSettings,
    "overlap": FixedSettings,
    "linear": MarkingSettings,
    "vectors": EncoderSettings,
    "language-model": AskingRun,
}
