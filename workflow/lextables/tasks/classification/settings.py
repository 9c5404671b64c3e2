"""Settings of the steps of classification, from training to scores.

They are apart from the modules that use them because the planner does not load torch.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from lextables.models.settings import (
    LanguageModelSettings,
    Optimiser,
    StepSettings,
    WeightSettings,
)

HeadKind = Literal["family", "own"]
Loss = Literal["binary_cross_entropy", "cross_entropy"]
FeatureKind = Literal["words", "vectors", "both", "overlap", "length"]
Sides = Literal["both", "first", "second"]
BLANK = "blank"  # in place of a column: this side of each pair is one space


class View(StepSettings):
    """The texts of an example that a model reads."""

    text: str = "text_id"
    """Column with the id of the text; `BLANK`: a blank."""
    pair: str | None = None
    """Column with the id of the second text; `BLANK`: a blank; None for single
    texts.
    """

    @property
    def has_blank(self) -> bool:
        """Whether one side of its pairs is blank."""
        return BLANK in (self.text, self.pair)


class Reading(StepSettings):
    """How a trained model reads the test examples; a task with views has several."""

    condition: str = ""
    """`<view of the training> > <view of the test>`; empty in a task without views."""
    source: NonNegativeInt = 0
    """Index of the training whose model reads, among the run's trainings."""
    view: View | None = None
    """The texts that the model reads; None: the columns of the examples."""
    max_length: PositiveInt | None = None
    """Tokens of a text or pair, at most; None for models that read whole texts."""


class ExampleSelection(StepSettings):
    """The examples that a model is trained and tested on."""

    only: tuple[str, ...] = ()
    """The heads; empty: all of the data set."""
    where: str | None = None
    """Column that is true for training examples; None: all of the training splits."""
    min_test: NonNegativeInt = 0
    """With fewer test examples nothing is trained."""
    test: tuple[str, ...] = ()
    """Splits in which ``min_test`` examples are counted."""


class TrainingSettings(ExampleSelection, WeightSettings):
    """A fine-tuning of an encoder with one head (`single`) or with all heads
    (`multi`).
    """

    setting: Literal["single", "multi"]
    """One model for each head, or one for all (MAUD, A.4)."""
    grid: str = ""
    """Name of the grid."""
    percent: PositiveInt
    """Per cent of the training examples (MAUD, Figure 3)."""
    published: str | None = None
    """Name of the model in the authors' settings, if these are used."""
    tried: PositiveInt = 1
    """Number of trials from which the settings are chosen."""
    tokenizer: WeightSettings | None = None
    """The registered model that the tokens are made with."""
    head: HeadKind
    """Kind of the classification heads (`multi_head`)."""
    heads: PositiveInt | None
    """Most single-task models; None: one for each head."""
    batch_size: PositiveInt
    """Examples of an update."""
    max_length: PositiveInt
    """Tokens of a text or pair, at most."""
    optimiser: Optimiser
    """AdamW and the course of the learning rate."""
    learning_rate: float
    """Highest learning rate, unless a choice has another."""
    updates: tuple[NonNegativeInt, ...]
    """Numbers of updates after which the model predicts, unless a choice has others."""
    passes: PositiveFloat | None
    """Passes over the training examples in place of ``updates``."""
    max_updates: PositiveInt | None = None
    """Highest number of updates, even if a choice has more; None: no limit."""
    bf16: bool
    """Mixed precision with bfloat16 on a CPU; GPUs that support it always use it."""
    save_every: NonNegativeInt
    """Updates between checkpoints; 0: none."""
    multi_label: bool
    """Whether an example has any number of right answers instead of exactly one."""
    loss: Loss
    """One of `multi_head.LOSSES`."""
    sampling: Literal["balanced", "shuffled"]
    """Order of the examples of a head (`examples.QUEUES`; MAUD, A.4: balanced)."""
    class_weights: Literal["none", "balanced"]
    """Whether the answers of a head have equal weight in its loss."""
    view: View | None
    """The texts that the model reads; None: the columns of the examples."""
    new_heads: bool = False
    """Whether its heads are new although the weights that it starts from have heads."""


class InferenceSettings(ExampleSelection, WeightSettings):
    """The predictions of models that other runs trained.

    ``weights`` names the weights from which these trainings started.
    """

    setting: Literal["single", "multi"]
    """One model for each head, or one for all."""
    grid: str
    """Name of the grid of the trainings."""
    tokenizer: WeightSettings
    """The registered model that the tokens are made with."""
    weights_of: str = ""
    """Folder of the training."""
    max_length: PositiveInt | None = None
    """Tokens of a text or pair, at most, in a task without views."""
    readings: tuple[Reading, ...] = ()
    """The views under which the examples are read, in a task with views."""


class FeatureSettings(StepSettings):
    """Features of linear models; all values were chosen by cross-validation on training
    splits.
    """

    longest: PositiveInt
    """Words of an n-gram, at most."""
    least: PositiveInt
    """Texts of a head that an n-gram occurs in, at least."""
    smoothing: PositiveFloat
    """Added to each count for the log odds that weight an n-gram."""
    penalty: Mapping[FeatureKind, PositiveFloat]
    """scikit-learn's C (smaller is stronger), by the features of a model."""
    piece: PositiveInt = 64
    """Words of a piece of text that is encoded as one vector."""
    numbers: PositiveFloat = 1.0
    """Weight of vectors and numeric features relative to words."""


class LinearSettings(ExampleSelection, FeatureSettings):
    """The training and the predictions of linear models, one for each head."""

    kind: Literal["linear"] = "linear"
    """Kind of the panel."""
    features: FeatureKind
    """Words, frozen sentence vectors, both, the overlap of the words of a pair, or the
    number of words alone.
    """
    sides: Sides
    """The texts of a pair that are read."""
    multi_label: bool
    """Whether an example has any number of right answers instead of exactly one."""
    percent: PositiveInt = 100
    """Per cent of the training examples."""
    view: View | None = None
    """The texts that are read in training; None: the columns of the examples."""
    readings: tuple[Reading, ...] = ()
    """The views under which the test examples are read, in a task with views."""
    model: str = ""
    """The sentence encoder; empty for words only.

    This field and the next ones are as in `WeightSettings`.
    """
    weights: str = ""
    """Hub name, place or folder of the encoder's weights."""
    revision: str | None = None
    """Revision on the hub."""
    found: str = ""
    """Where the weights were found, in words."""
    content: str | None = None
    """Digest of weights in a folder of the user."""


class MetricSettings(StepSettings):
    """The evaluator of a task."""

    evaluator: Literal["general", "minority AUPR"]
    """`general`, or the name of a released evaluator."""
    multi_label: bool
    """Whether an example has any number of right answers instead of exactly one."""


class ScoreSettings(MetricSettings):
    """The scores of a run."""

    metrics: tuple[str, ...]
    """Names in `metrics.classification`, for the general evaluator."""
    unit: str | None
    """Column of the examples with the unit (what intervals sample)."""
    groups: tuple[str, ...] = ()
    """Columns; the examples for which one is true are also scored as a group."""
    views: Mapping[str, object] = {}
    """The views of the task; without any, predictions have no conditions."""


class ChoiceSettings(MetricSettings):
    """The choice of a trial for each head, or for all heads of a multi-task model."""

    setting: Literal["single", "multi"]
    """One model for each head, or one for all."""
    percent: PositiveInt
    """Per cent of the training examples."""
    published: str | None
    """Name of the model in the authors' settings; None: the best of the search."""
    choose_by: str
    """Metric of the search, for the general evaluator."""
    updates_per_epoch: PositiveInt
    """Updates for each epoch of the authors' settings."""
    learning_rates: tuple[float, ...]
    """Learning rate of each run of the search."""


class AskingSettings(LanguageModelSettings):
    """Multiple-choice questions about test examples."""

    prompt: tuple[tuple[str, str], ...]
    """Role and text of each part of the prompt (`prompts.Template.plain`)."""
    question: str
    """Column of the heads with the question; empty if the prompt words it."""
    wordings: Mapping[str, str]
    """{answer: its words in the question}, for some answers."""
    orders: Literal[1, 2]
    """Orders of the options in which each question is asked."""
    samples: PositiveInt
    """Sampled answers of a model that reports no probabilities."""
    only: tuple[str, ...]
    """The heads; empty: all of the data set."""
    readings: tuple[Reading, ...] = ()
    """The views of the questions, in a task with views."""
