"""Settings of fine-tuned span models, from windows to n-best spans.

They are apart from the modules that use them because the planner does not load torch.
"""

from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from lextables.models.settings import Optimiser, StepSettings, WeightSettings


class WindowSettings(StepSettings):
    """How contracts are cut into windows.  Defaults: CUAD's released run.sh."""

    max_length: PositiveInt = 512
    """Tokens of a sequence with the question and special tokens, at most."""
    step: PositiveInt = 256
    """Contract tokens between the starts of windows (the released doc_stride)."""
    max_question_length: PositiveInt = 64
    """Tokens after which a question is cut."""


class CuttingSettings(WindowSettings, WeightSettings):
    """Windows by the tokenizer of a model."""

    held_out: float | str
    """Share of the training contracts that is held out, or the name of their split."""


class SpanTrial(StepSettings):
    """The settings of one training of a grid."""

    learning_rate: float
    """Highest learning rate of AdamW."""
    epochs: PositiveInt
    """Passes over the training windows."""


class FineTuning(StepSettings):
    """The updates of a training."""

    batch_size: PositiveInt
    """Windows of an update."""
    optimiser: Optimiser
    """AdamW and the course of the learning rate."""
    learning_rate: float | None = None
    """Highest learning rate, of the chosen `SpanTrial`; None before the choice."""
    epochs: PositiveInt | None = None
    """Passes, of the chosen `SpanTrial`; None before the choice."""
    max_updates: PositiveInt | None = None
    """Highest number of updates; None: no limit."""
    bf16: bool = False
    """Mixed precision with bfloat16 on a CPU; GPUs that support it always use it."""
    save_every: NonNegativeInt = 0
    """Updates between checkpoints; 0: none."""


class Training(CuttingSettings, FineTuning):
    """A fine-tuning on windows of contracts."""

    percent: PositiveInt
    """Per cent of the training contracts (CUAD, Section 4.2, Figure 6)."""
    balance: Literal["sample", "weight"]
    """Empty windows are sampled (released code) or weighted (CUAD, Section 4.1)."""


class NbestSettings(WindowSettings):
    """The prediction of n-best spans, for whatever model."""

    windows_per_question: PositiveInt | None
    """Windows of a contract that a question reads; None: all, as in the papers."""
    n_best: PositiveInt
    """Spans of a question, at most."""
    max_answer_length: PositiveInt
    """Tokens of a span, at most."""
    bf16: bool
    """Weights in bfloat16, except the span head."""


class Inference(CuttingSettings, NbestSettings):
    """The prediction of spans with trained weights."""

    tried: PositiveInt | None = None
    """Number of trials from which the training was chosen."""


class Search(Training, Inference):
    """A training without the held-out contracts, and the prediction of their spans."""


class Pretraining(StepSettings):
    """Masked-language-model training on contracts (CUAD, Section 4.2)."""

    updates: PositiveInt
    """Number of updates; the paper does not state it."""
    batch_size: PositiveInt
    """Blocks of an update."""
    max_length: PositiveInt
    """Tokens of a block, with special tokens."""
    learning_rate: float
    """Highest learning rate of AdamW; the paper does not state it."""
    optimiser: Optimiser
    """AdamW and the course of the learning rate."""
    bf16: bool = False
    """As in `FineTuning`."""


class PretrainingRun(Pretraining, WeightSettings):
    """A pretraining that starts from a model's weights."""
