"""Trainings of classifiers with random weights on texts of random tokens, for
measurements.
"""

import time
from typing import Any

import torch
import transformers
from torch.nn.utils import parameters_to_vector
from torch.nn.utils.rnn import pad_sequence

from lextables.models import checkpoints
from lextables.models.in_parts import InParts
from lextables.models.settings import Optimiser

# Width, layers, heads; feed-forward layers are four times as wide.
Size = tuple[int, int, int]
# Rows of a batch, tokens of the shortest and of the longest text.
Work = tuple[int, int, int]
SMALL: Size = (32, 2, 2)
SMALL_WORK: Work = (8, 4, 32)
# Names of dropout probabilities in the configurations of all architectures.
DROPOUTS = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "classifier_dropout",
    "attention_dropout",
    "mlp_dropout",
)


class Watch(transformers.TrainerCallback):
    """Time the updates after the first ``warm``, keep gradients, and stop a training
    before ``stop_at``.
    """

    def __init__(self, warm: int = 0, stop_at: int = -1) -> None:
        self.warm = warm
        self.stop_at = stop_at
        self.begun = 0.0  # seconds (see `now`)
        self.ended = 0.0
        self.gradients = torch.empty(0)  # of a training with one update

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step == self.stop_at:
            raise KeyboardInterrupt
        if state.global_step == self.warm:
            self.begun = now()

    def on_pre_optimizer_step(self, args, state, control, model, **kwargs):
        if state.max_steps == 1:
            parts = [part.grad for part in model.parameters() if part.grad is not None]
            self.gradients = parameters_to_vector(parts).double()

    def on_step_end(self, args, state, control, **kwargs):
        self.ended = now()


def now() -> float:
    """Return the time in seconds, after all work on a GPU is done."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter()


def texts_of(work: Work, batches: int) -> list[dict[str, torch.Tensor]]:
    """Return texts of random tokens and lengths, and their labels, for some batches."""
    rows, shortest, longest = work
    generator = torch.Generator().manual_seed(0)
    texts = []
    for _ in range(rows * batches):
        length = int(torch.randint(shortest, longest + 1, (), generator=generator))
        ids = torch.randint(5, 1000, (length,), generator=generator)
        texts.append({"input_ids": ids, "labels": ids[0] % 2})
    return texts


def collate(rows: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """Return a batch that is padded on the right."""
    texts = [row["input_ids"] for row in rows]
    masks = [torch.ones_like(text) for text in texts]
    batch = {
        "input_ids": pad_sequence(texts, True),
        "attention_mask": pad_sequence(masks, True),
    }
    return batch | {"labels": torch.stack([row["labels"] for row in rows])}


def classifier(kind: str, size: Size, dropout: float) -> transformers.PreTrainedModel:
    """Return a classifier with random weights, which are the same for the same
    arguments.
    """
    width, layers, heads = size
    options: dict[str, Any] = dict.fromkeys(DROPOUTS, dropout)
    options |= {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": 4 * width,
        "vocab_size": 1000,
        "max_position_embeddings": 600,
    }
    transformers.set_seed(0)
    config = transformers.AutoConfig.for_model(kind, pad_token_id=0, **options)
    return transformers.AutoModelForSequenceClassification.from_config(config)


OPTIMISER = Optimiser(
    weight_decay=0,
    decayed="weights",
    betas=(0.9, 0.999),
    epsilon=1e-8,
    clip=1.0,
    schedule="linear",
    warmup=0,
)


def trainer(
    model: transformers.PreTrainedModel,
    device: torch.device,
    work: Work,
    updates: int,
    *,
    folder: str = "unused",
    save_every: int = 0,
    watch: Watch | None = None,
    bf16: bool | None = None,
    **changes: Any,
) -> InParts:
    """Return a trainer with the arguments of the project's trainings, except
    ``changes``.

    It trains in bfloat16 mixed precision if ``bf16``, by default on a GPU.
    """
    if bf16 is None:
        bf16 = device.type == "cuda"
    rows, _, _ = work
    arguments = checkpoints.arguments(
        folder, updates, seed=0, save_every=save_every, device=device
    )
    arguments |= {
        "per_device_train_batch_size": rows,
        "learning_rate": 1e-3,
        "remove_unused_columns": False,
    }
    return InParts(
        model=model.to(device),
        args=transformers.TrainingArguments(**arguments | changes),
        train_dataset=texts_of(work, updates),
        data_collator=collate,
        callbacks=[watch or Watch()],
        mixed=bf16,
        optimiser=OPTIMISER,
    )


def difference(run: InParts, other: InParts) -> float:
    """Return the largest difference between the weights of two trained models."""
    weights = parameters_to_vector(run.model.parameters())
    other_weights = parameters_to_vector(other.model.parameters())
    return float((weights - other_weights).abs().max())
