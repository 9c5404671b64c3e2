"""The settings of models that answer questions or mark paragraphs."""

from typing import Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PositiveFloat,
    PositiveInt,
)

from lextables.pipeline.registry import Entry

WHOLE_DOCUMENT = "whole"


class Learning(Entry):
    """Settings of trained answers (`baselines.linear_answers`), in a paper's registry."""

    best: tuple[PositiveInt, ...] = Field((2, 20), min_length=1)
    """Numbers of paragraphs most similar to a question, whose means are the features."""
    penalties: tuple[PositiveFloat, ...] = Field(
        (0.001, 0.01, 0.1, 1.0, 10.0, 100.0), min_length=1
    )
    """Penalties of which a fold's is chosen on the others; smaller is stronger."""


class Marking(Entry):
    """Settings of trained marks (`baselines.linear_marks`), in a paper's registry."""

    longest: PositiveInt = 2
    """The longest run of words that is a feature."""
    least: PositiveInt = 5
    """The minimum number of paragraphs with a run of words."""
    alpha: PositiveFloat = 1e-6
    """The strength of the penalty, as in `models.linear.fit_many`."""
    epochs: PositiveInt = 5
    """The number of passes over the paragraphs."""


class PriorSettings(BaseModel):
    """The settings of a run whose answers are learnt from other documents' answers."""

    model_config = ConfigDict(frozen=True)

    pseudo: float
    """The number of additional documents with equal shares of all options."""
    smoothing: float
    """The share of each answer that is spread over all options."""


class LearningSettings(PriorSettings, Learning):
    """The settings of a run with trained answers."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    folds: int
    """The number of folds of the documents."""


class MarkingSettings(Marking):
    """The settings of a run with trained marks."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    folds: int
    """The number of folds of the documents."""


class AskingSettings(BaseModel):
    """The settings of a run with a language model."""

    model_config = ConfigDict(frozen=True)

    prompt: list[list[str]]
    """The parts of the prompt (`models.prompts`)."""
    text: Literal["whole", "retrieved"] = "retrieved"
    """Whether the model reads the whole document or its ``best`` paragraphs."""
    best: int = 0
    """The number of paragraphs that the model reads, or is asked about."""
    orders: int
    """The number of orders of the options."""
    samples: int
    """The number of sampled answers of a model without probabilities."""
