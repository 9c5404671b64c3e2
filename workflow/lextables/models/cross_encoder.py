"""Cross-encoders: one relevance logit for a query and a clause in one sequence."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.cross_encoder import (
    CrossEncoderTrainer,
    CrossEncoderTrainingArguments,
)
from sentence_transformers.cross_encoder.data_collator import CrossEncoderDataCollator
from sentence_transformers.util import batch_to_device
from torch.nn.functional import binary_cross_entropy_with_logits
from tqdm import tqdm
from transformers import set_seed

from lextables.models import loading
from lextables.models.checkpoints import AtUpdates, arguments, train
from lextables.models.device import mixed
from lextables.models.files import check_named_code
from lextables.models.in_parts import Batch, InParts, in_parts_that_fit
from lextables.models.own_settings import set_length
from lextables.models.settings import UpdateSettings
from lextables.models.tokenised import tokenised
from lextables.pipeline.errors import loading_weights
from lextables.pipeline.finite import finite

Pair = tuple[str, str]
TOKENISED = 16_384  # pairs in memory as tokens, about 200 MB if they have 512 tokens


@loading_weights()
def load(
    folder: str,
    device: torch.device,
    max_length: int | None,
    seed: int = 0,
    *,
    fresh_head: bool = False,
) -> CrossEncoder:
    """Load a cross-encoder; with ``fresh_head``, ``seed`` initialises a missing
    relevance head.

    ``max_length`` is that of a pair in tokens; None: the model's own (`set_length`).
    Its weights are in single precision, whatever the precision of their file. Raises
    `BadInput` for a model whose configuration names code, and for missing weights: with
    ``fresh_head`` those of the encoder.
    """
    check_named_code(folder)
    kind = "encoder" if fresh_head else "cross-encoder"
    loading.check_complete(folder, loading.missing_tensors(folder, kind))
    set_seed(seed)
    model = CrossEncoder(
        folder, device=str(device), max_length=max_length, num_labels=1
    )
    loading.check_finite(folder, model)
    if max_length is None:
        own: Any = model  # it has the length and the tokenizer of a sentence encoder
        set_length(own, None)
    return model.float()


def score(
    model: CrossEncoder, pairs: Sequence[Pair], batch_size: int = 64
) -> np.ndarray:
    """Return one float64 logit for each (query, clause) pair; higher is more relevant.

    Raises `BadInput` if the model returns numbers that are not finite.  Pairs are
    sorted by tokens, longest first.  Sorted by characters, as the library does, ACORD's
    batches have 18 % padding; sorted by tokens, 1 %.
    """
    model.eval()
    logits = np.empty(len(pairs))
    few = len(pairs) <= 1000
    with tqdm(total=len(pairs), desc="rerank", disable=few) as progress:
        for start in range(0, len(pairs), TOKENISED):
            part = pairs[start : start + TOKENISED]
            for positions, part_logits in _logits(model, part, batch_size):
                what = "the logits of the model"
                logits[start + positions] = finite(part_logits, what, where="reranking")
                progress.update(len(positions))
    return logits


def _logits(
    model: CrossEncoder, pairs: Sequence[Pair], batch_size: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield positions of some of the pairs and their logits (pairs,), until all are
    done.
    """
    name = model.default_prompt_name
    prompt = model.prompts[name] if name else None
    inputs = tokenised(model, pairs, prompt=prompt)
    lengths = np.array(inputs.lengths())
    by_length = np.argsort(-lengths, kind="stable").tolist()

    @torch.inference_mode()
    def read(positions: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        features = batch_to_device(inputs.batch(positions), model.device)
        scores = model(features)["scores"].double()
        return np.array(positions), scores.reshape(-1).cpu().numpy()

    yield from in_parts_that_fit(by_length, batch_size, read)


class BalancedBatches(DefaultBatchSampler):
    """Batches in which every label is drawn equally often (ACORD F.2: oversampled by
    relevance).

    Draws cycle over the labels; within a label all examples are drawn before any is
    repeated, in an order that depends on ``seed``.  The sequence depends only on labels
    and seed, so a resumed run sees the same batches.
    """

    def __init__(
        self, labels: Sequence[float], batch_size: int, batches: int, seed: int
    ) -> None:
        self.labels = np.asarray(labels)
        self.batch_size = batch_size
        self.batches = batches
        self.seed = seed
        self.drop_last = False

    def __len__(self) -> int:
        return self.batches

    def set_epoch(self, epoch: int) -> None:
        """Do nothing: all updates are one epoch."""

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng(self.seed)
        streams = []
        for label in np.unique(self.labels):
            indices = np.flatnonzero(self.labels == label)
            streams.append(_endless(indices, generator))
        turns = itertools.cycle(streams)
        for _ in range(self.batches):
            yield [next(next(turns)) for _ in range(self.batch_size)]


def balanced_batches(
    data: Dataset, batch_size: int, batches: int, seed: int, **_: object
) -> BalancedBatches:
    """Return the batches of ``data`` by its ``label``; the trainer's other arguments
    are ignored.
    """
    return BalancedBatches(data["label"], batch_size, batches, seed)


class _Collator(CrossEncoderDataCollator):
    """Tokenizes pairs in the data loader; the library's losses do it in the training
    step.
    """

    def __call__(self, features: list[dict[str, Any]]) -> Batch:
        batch = super().__call__(features)
        queries = batch.pop("query")
        clauses = batch.pop("clause")
        pairs = list(zip(queries, clauses, strict=True))
        return {**batch, **self.preprocess_fn(pairs)}


class _Trainer(InParts, CrossEncoderTrainer):
    """A trainer whose loss is the cross-entropy between relevance logits and targets in
    0..1.
    """

    data_collator_class = _Collator

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: Batch,
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Return the mean loss of a batch."""
        targets = inputs.pop("label").float()
        logits = model(inputs)["scores"].view(-1).float()
        loss = binary_cross_entropy_with_logits(logits, targets)
        return (loss, {}) if return_outputs else loss


def _endless(indices: np.ndarray, generator: np.random.Generator) -> Iterator[int]:
    while True:
        for index in generator.permutation(indices):
            yield int(index)


def finetune(
    model: CrossEncoder,
    pairs: Sequence[Pair],
    targets: Sequence[float],
    settings: UpdateSettings,
    seed: int,
    work: Path,
    visit: Callable[[int], None],
) -> int:
    """Fine-tune in place; ``visit(n)`` is called after each n of the settings' updates.

    The loss is the cross-entropy with ``targets`` in 0..1 (ACORD F.2).  With a constant
    learning rate, as in ACORD's grids, one run gives the model after each number of
    updates.
    Checkpoints are written to ``work``; an interrupted run resumes from there,
    including batches, optimiser and random state.  Returns the update from which it
    resumed (0 without a checkpoint).
    """
    last = max(settings.updates)
    queries, clauses = zip(*pairs, strict=True)
    data = Dataset.from_dict(
        {"query": queries, "clause": clauses, "label": list(targets)}
    )
    training_arguments = CrossEncoderTrainingArguments(
        **arguments(
            work, last, seed=seed, save_every=settings.save_every, device=model.device
        ),
        **settings.optimiser.arguments(settings.learning_rate),
        per_device_train_batch_size=settings.batch_size,
        batch_sampler=partial(balanced_batches, batches=last),
    )
    trainer = _Trainer(
        model=model,
        args=training_arguments,
        train_dataset=data,
        callbacks=[AtUpdates(settings.updates, visit)],
        mixed=mixed(settings.bf16, model.device),
        optimiser=settings.optimiser,
    )
    return train(trainer, work)
