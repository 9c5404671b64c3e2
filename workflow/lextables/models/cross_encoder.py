"""Cross-encoders: a query and a clause in one sequence, one relevance logit out."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder
from sentence_transformers.base.sampler import DefaultBatchSampler
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.data_collator import CrossEncoderDataCollator
from torch.nn.functional import binary_cross_entropy_with_logits
from tqdm import tqdm
from transformers import set_seed

from lextables.models import loading
from lextables.models.checkpoints import AtUpdates, arguments, train
from lextables.models.files import check_named_code
from lextables.models.in_parts import InParts
from lextables.models.micro_batches import in_parts_that_fit
from lextables.models.throughput import READING, count, measured
from lextables.pipeline.errors import loading_weights

Pair = tuple[str, str]
# How many pairs are counted at once, which may be whole opinions.
COUNTED = 256


@loading_weights()
def load(
    folder: str, device: torch.device, max_length: int, seed: int = 0, *, fresh_head: bool = False
) -> CrossEncoder:
    """Load a cross-encoder.  With ``fresh_head`` one without a relevance head gets one, drawn with ``seed``.

    Raises `BadInput` for a model that names code to run, and for one that is to be used as it is and lacks
    its head, or any other weights.
    """
    check_named_code(folder)
    if not fresh_head:
        loading.check_complete(folder, loading.missing_tensors(folder, "cross-encoder"))
    set_seed(seed)
    return CrossEncoder(folder, device=str(device), max_length=max_length, num_labels=1)


def score(model: CrossEncoder, pairs: Sequence[Pair], batch_size: int = 64) -> np.ndarray:
    """Return one float64 logit a (query, clause) pair; higher is more relevant.

    Pairs are read by their tokens, longest first: by their characters, as the library sorts them, a batch of
    ACORD's is 18 % padding, by tokens 1 %.
    """
    by_length = np.argsort([-count for count in _lengths(model, pairs)], kind="stable")
    found = [np.empty(0)]

    def read(part: np.ndarray) -> np.ndarray:
        return model.predict(
            [pairs[at] for at in part],
            batch_size=len(part),
            activation_fn=torch.nn.Identity(),
            show_progress_bar=False,
        )

    counting = model.register_forward_hook(lambda _, given, found: count(given[0]))
    with (
        measured(READING, model),
        counting,
        tqdm(total=len(pairs), desc="rerank", disable=len(pairs) <= 1000) as progress,
    ):
        for logits in in_parts_that_fit(by_length, batch_size, read):
            found.append(np.asarray(logits, dtype=np.float64).reshape(-1))
            progress.update(len(found[-1]))
    return np.concatenate(found)[np.argsort(by_length)]


def _lengths(model: CrossEncoder, pairs: Sequence[Pair]) -> list[int]:
    """The tokens of each pair, cut as the model cuts it."""
    found: list[int] = []
    for start in range(0, len(pairs), COUNTED):
        queries, clauses = zip(*pairs[start : start + COUNTED], strict=True)
        cut = {"truncation": True, "max_length": model.max_seq_length}
        found += map(len, model.tokenizer(list(queries), list(clauses), **cut)["input_ids"])
    return found


class BalancedBatches(DefaultBatchSampler):
    """Batches in which every label is drawn equally often (ACORD F.2: oversampled by relevance).

    Draws cycle over the labels; within a label each example comes once before any comes again, in an
    order that ``seed`` fixes.  The sequence is a function of the labels and the seed alone, so that a
    resumed run sees the batches that it would have seen.
    """

    def __init__(self, labels: Sequence[float], batch_size: int, batches: int, seed: int) -> None:
        self.labels, self.batch_size, self.batches, self.seed = np.asarray(labels), batch_size, batches, seed
        self.drop_last = False

    def __len__(self) -> int:
        return self.batches

    def set_epoch(self, epoch: int) -> None:
        """All updates are one epoch, so there is nothing to reshuffle."""

    def __iter__(self) -> Iterator[list[int]]:
        generator = np.random.default_rng(self.seed)
        streams = [
            _endless(np.flatnonzero(self.labels == label), generator) for label in np.unique(self.labels)
        ]
        drawn = 0
        for _ in range(self.batches):
            batch = [next(streams[(drawn + i) % len(streams)]) for i in range(self.batch_size)]
            drawn += self.batch_size
            yield batch


def balanced_batches(data: Dataset, batch_size: int, batches: int, seed: int, **_: object) -> BalancedBatches:
    """Return the batches of ``data`` by its ``label``; the trainer's other arguments do not bear on them."""
    return BalancedBatches(data["label"], batch_size, batches, seed)


class _Collator(CrossEncoderDataCollator):
    """Cuts pairs into tokens with the batch, beside a GPU's work; the library's losses do it in its midst."""

    def __call__(self, features):
        batch = super().__call__(features)
        pairs = list(zip(batch.pop("query"), batch.pop("clause"), strict=True))
        return batch | dict(self.preprocess_fn(pairs))


class _Trainer(InParts, CrossEncoderTrainer):
    """A trainer whose loss is the cross-entropy between relevance logits and targets in 0..1."""

    data_collator_class = _Collator
    trims = False  # the tokenizer is the model's own, and may pad on the left

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        targets = inputs.pop("label").float()
        loss = binary_cross_entropy_with_logits(model(inputs)["scores"].view(-1), targets)
        return (loss, {}) if return_outputs else loss


def _endless(indices: np.ndarray, generator: np.random.Generator) -> Iterator[int]:
    while True:
        for index in generator.permutation(indices):
            yield int(index)


def finetune(
    model: CrossEncoder,
    pairs: Sequence[Pair],
    targets: Sequence[float],
    *,
    learning_rate: float,
    updates: Sequence[int],
    batch_size: int,
    weight_decay: float,
    bf16: bool,
    seed: int,
    work: Path,
    visit: Callable[[int], None],
    save_every: int,
) -> int:
    """Fine-tune in place for max(``updates``) updates; ``visit(n)`` is called after each n of ``updates``.

    Cross-entropy against ``targets`` in 0..1 with AdamW at a constant rate (ACORD F.2; a schedule that
    decays to a last update would need a run for each number of updates).  Checkpoints go to ``work``
    every ``save_every`` updates; a run that finds one there goes on from it, batches, optimiser and
    random state included.  Returns the update that it went on from (0 for a fresh start).
    """
    last = max(updates)
    data = Dataset.from_dict(
        {
            "query": [query for query, _ in pairs],
            "clause": [clause for _, clause in pairs],
            "label": list(targets),
        }
    )
    settings = CrossEncoderTrainingArguments(
        **arguments(work, last, seed=seed, save_every=save_every, device=model.device, bf16=bf16),
        per_device_train_batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        lr_scheduler_type="constant",
        warmup_steps=0,
        logging_steps=max(1, last // 20),
        disable_tqdm=False,
        batch_sampler=partial(balanced_batches, batches=last),
    )
    trainer = _Trainer(
        model=model,
        args=settings,
        train_dataset=data,
        callbacks=[AtUpdates(updates, visit)],
        rows=batch_size,
    )
    return train(trainer, work)
