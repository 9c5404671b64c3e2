"""Training of span-extraction models as in CUAD's released code (train.py)."""

import math
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, TrainingArguments

from lextables.models import checkpoints, loading
from lextables.models.checkpoints import arguments, work_folder
from lextables.models.device import mixed
from lextables.models.in_parts import Batch, InParts
from lextables.models.loading import save
from lextables.models.tokenizers import load_tokenizer
from lextables.models.weights import weights_folder
from lextables.pipeline.errors import BadInput
from lextables.pipeline.files import JsonObject
from lextables.tasks.spans.settings import FineTuning, Training
from lextables.tasks.spans.squad import contract_splits, held_out_contracts, part
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    WindowFiles,
    Windows,
    balanced,
    empty_weight,
    question_texts,
)


def training_rows(
    windows: Windows,
    splits: Mapping[str, str],
    settings: Training,
    seed: int,
    search: bool,
) -> tuple[np.ndarray, float | None]:
    """Return the indices of the training windows, and the weight of empty ones (windows
    without an answer; None stands for the weight 1).

    ``splits`` is {contract: split}.  A search leaves out the held-out contracts; below
    100 per cent, a random share of the contracts is used.  Empty windows are balanced
    by a random sample, as in the released code, or by their weight (CUAD, Section 4.1).
    """
    contracts: Set[str] = set(windows.contracts)
    if search:
        contracts -= held_out_contracts(splits, settings.held_out)
    if settings.percent < 100:
        contracts = part(contracts, settings.percent, seed)
    numbers = [at for at, name in enumerate(windows.contracts) if name in contracts]
    rows = np.flatnonzero(np.isin(windows.contract, numbers))
    starts = windows.start_positions[rows]
    ends = windows.end_positions[rows]
    if not starts.any():
        raise BadInput(
            f"none of the {len(rows)} windows of {len(contracts)} contracts has an answer",
            where="training windows",
            do="train on a larger share of the contracts",
        )
    if settings.balance == "weight":
        return rows, empty_weight(starts, ends)
    return rows[balanced(starts, ends, seed)], None


def train(
    files: WindowFiles,
    settings: Training,
    *,
    seed: int,
    search: bool,
    device: torch.device,
    work_root: str | Path,
    identity: JsonObject,
    output: str | Path,
) -> JsonObject:
    """Fine-tune a model, save it to ``output``, and return what `run.json` records.

    A ``search`` leaves out the windows of the held-out contracts.  Checkpoints are in a
    folder of ``work_root`` (`work_settings`, with ``identity``); a finished training
    that is kept there is reused.
    """
    folder = weights_folder(settings.plain())
    tokenizer = load_tokenizer(folder)
    dataset = WindowDataset(
        files.windows, tokenizer, settings, question_texts(files.questions)
    )
    windows = dataset.windows
    splits = contract_splits(files.contracts)
    rows, weight = training_rows(windows, splits, settings, seed, search)
    dataset.rows = rows
    items = dataset.digest()
    work = work_folder(
        work_root, work_settings(settings, seed, search, identity, items)
    )
    if record := checkpoints.finished(work, output):
        return record
    model = loading.load_span_model(folder, device, seed)
    collator = Collator.of(tokenizer)
    resumed = finetune(
        model, dataset, collator, settings, seed=seed, work=work, empty_weight=weight
    )
    save(model, tokenizer, output)
    answered = int((windows.start_positions[rows] > 0).sum())
    return {
        "trial": {"learning_rate": settings.learning_rate, "epochs": settings.epochs},
        "updates": updates(len(rows), settings),
        "training_windows": {
            "with an answer": answered,
            "without": len(rows) - answered,
        },
        "resumed_from_update": resumed,
        "work": work.name,
    }


def work_settings(
    settings: Training, seed: int, search: bool, identity: JsonObject, items: str
) -> JsonObject:
    """Return what identifies the work folder of a training (`checkpoints.work_folder`).

    ``identity`` is that of data, code, libraries and device; ``items`` is the digest of
    the windows that are trained on (`WindowDataset.digest`).
    """
    return {
        "settings": settings.plain(),
        "seed": seed,
        "search": search,
        "identity": dict(identity),
        "items": items,
    }


def updates(windows: int, settings: FineTuning) -> int:
    """Return the number of updates of all epochs over ``windows`` windows.

    The settings may limit it.
    """
    assert settings.epochs is not None  # of the chosen or only trial
    planned = math.ceil(windows / settings.batch_size) * settings.epochs
    return min(planned, settings.max_updates or planned)


class _SpanTrainer(InParts):
    """A trainer whose loss weights windows without an answer by ``empty_weight``.

    ``answered`` states of each training window whether it has one.
    """

    def __init__(
        self, *args: Any, answered: np.ndarray, empty_weight: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.empty_weight = empty_weight
        self.mean_weight = float(np.where(answered, 1.0, empty_weight).mean())

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: Batch,
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Return the mean over windows of weight x half the cross-entropy of both ends.

        Weights are divided by their mean over the data, not over the batch: a batch
        without answers must have less influence than one with answers.  Padding is
        masked, so that a window's loss does not depend on the other windows of its
        batch; the released code, which pads to full length, includes padding in the
        softmax.
        """
        starts = inputs.pop("start_positions")
        ends = inputs.pop("end_positions")
        outputs = model(**inputs)
        padding = inputs["attention_mask"] == 0
        start_loss = _cross_entropy(outputs.start_logits, starts, padding)
        end_loss = _cross_entropy(outputs.end_logits, ends, padding)
        loss = (start_loss + end_loss) / 2
        weights = torch.where(starts > 0, 1.0, self.empty_weight) / self.mean_weight
        loss = (weights * loss).mean()
        return (loss, outputs) if return_outputs else loss


def _cross_entropy(
    logits: torch.Tensor, positions: torch.Tensor, padding: torch.Tensor
) -> torch.Tensor:
    """Return the cross-entropy of each window, float32 (windows,), without padding."""
    masked = logits.float().masked_fill(padding, -torch.inf)
    return cross_entropy(masked, positions, reduction="none")


def finetune(
    model: PreTrainedModel,
    dataset: WindowDataset,
    collator: Collator,
    settings: FineTuning,
    *,
    seed: int,
    work: Path,
    empty_weight: float | None = None,
) -> int:
    """Fine-tune in place on the windows of ``dataset``, on the model's device.

    Windows are the balanced sample (`windows.balanced`, as in the released code), or
    all with ``empty_weight`` (`windows.empty_weight`, as in the paper's Section 4.1).

    Checkpoints are written to ``work``; a run that finds one there resumes and ends
    with the weights of an uninterrupted run.  Returns the update from which it resumed
    (0 for a fresh start).
    """
    assert settings.learning_rate is not None  # of the chosen or only trial
    common = arguments(
        work,
        updates(len(dataset), settings),
        seed=seed,
        save_every=settings.save_every,
        device=model.device,
    )
    trainer = _SpanTrainer(
        model=model,
        args=TrainingArguments(
            **common,
            **settings.optimiser.arguments(settings.learning_rate),
            per_device_train_batch_size=settings.batch_size,
            remove_unused_columns=False,
        ),
        train_dataset=dataset,
        data_collator=collator,
        mixed=mixed(settings.bf16, model.device),
        optimiser=settings.optimiser,
        answered=dataset.windows.start_positions[dataset.rows] > 0,
        empty_weight=1.0 if empty_weight is None else empty_weight,
    )
    return checkpoints.train(trainer, work)
