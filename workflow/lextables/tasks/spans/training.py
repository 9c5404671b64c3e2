"""Training of span-extraction models as in the released CUAD code (train.py, run.sh)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy
from transformers import PreTrainedModel, TrainingArguments

from lextables.models import checkpoints, loading
from lextables.models.checkpoints import arguments, work_folder
from lextables.models.in_parts import InParts
from lextables.models.loading import load_tokenizer, save
from lextables.models.optimiser import Optimiser
from lextables.models.precision import mixed
from lextables.models.weights import weights_folder
from lextables.pipeline.dataset import read
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans.squad import held_out_contracts, part
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    Windows,
    balanced,
    empty_weight,
    open_windows,
    question_texts,
    window_settings,
)

Settings = Mapping[str, Any]


def contract_splits(contracts: str | Path) -> dict[str, str]:
    """Return {contract: split}."""
    return {
        row["contract_id"]: row["split"]
        for row in read(contracts, ["contract_id", "split"])
    }


def training_rows(
    windows: Windows,
    splits: Mapping[str, str],
    settings: Settings,
    seed: int,
    search: bool,
) -> tuple[np.ndarray, float | None]:
    """Return the indices of the training windows, and the weight of windows without an answer (None: 1).

    A search leaves out the held-out contracts; below 100 per cent, a random share of the contracts is used.
    Empty windows are balanced by a random sample, as in the released code, or by their weight (Section 4.1).
    """
    contracts = set(windows.contracts)
    if search:
        contracts -= held_out_contracts(splits, settings["held_out"])
    if settings["percent"] < 100:
        contracts = part(contracts, settings["percent"], seed)
    keep = np.isin(
        windows.contract,
        [i for i, name in enumerate(windows.contracts) if name in contracts],
    )
    rows = np.flatnonzero(keep)
    starts, ends = windows.start_positions[rows], windows.end_positions[rows]
    if not starts.any():
        raise BadInput(
            f"none of the {len(rows)} windows of {len(contracts)} contracts has an answer",
            where="training windows",
            do="train on a larger share of the contracts",
        )
    if settings["balance"] == "weight":
        return rows, empty_weight(starts, ends)
    return rows[balanced(starts, ends, seed)], None


def train(
    contracts: Path,
    questions: Path,
    windows_folder: Path,
    settings: Settings,
    *,
    seed: int,
    search: bool,
    device: torch.device,
    work_root: str | Path,
    identity: Mapping[str, Any],
    output: str | Path,
) -> dict[str, Any]:
    """Fine-tune with these settings and save the model to ``output``; return what `run.json` records.

    ``windows_folder`` has the training windows; a ``search`` leaves out those of the held-out contracts.
    ``identity`` (data, code, libraries, device) identifies the checkpoints that may be reused.
    """
    folder = weights_folder(settings)
    tokenizer = load_tokenizer(folder)
    windows = open_windows(windows_folder)
    rows, weight = training_rows(
        windows, contract_splits(contracts), settings, seed, search
    )
    dataset = WindowDataset(
        windows_folder,
        tokenizer,
        window_settings(settings),
        question_texts(questions),
        rows,
    )
    work = work_folder(
        work_root,
        {
            "settings": dict(settings),
            "seed": seed,
            "search": search,
            "identity": dict(identity),
        },
    )
    if record := checkpoints.finished(work, output):
        return record
    model = loading.load_span_model(folder, device, seed)
    names = "learning_rate epochs batch_size max_updates bf16 save_every".split()
    options = {name: settings[name] for name in names}
    options["optimiser"] = Optimiser(**settings["optimiser"])
    collator = Collator.of(tokenizer)
    resumed = finetune(
        model, dataset, collator, **options, empty_weight=weight, seed=seed, work=work
    )
    save(model, tokenizer, output)
    answered = int((windows.start_positions[rows] > 0).sum())
    return {
        "trial": {name: settings[name] for name in ("learning_rate", "epochs")},
        "updates": updates(
            len(rows),
            settings["batch_size"],
            settings["epochs"],
            settings["max_updates"],
        ),
        "training_windows": {
            "with an answer": answered,
            "without": len(rows) - answered,
        },
        "resumed_from_update": resumed,
        "work": work.name,
    }


def updates(
    windows: int, batch_size: int, epochs: float, most: int | None = None
) -> int:
    """Return the number of updates of ``epochs`` passes over ``windows``: at least 1, at most ``most``."""
    planned = max(1, round(-(-windows // batch_size) * epochs))
    return min(planned, most) if most else planned


class _SpanTrainer(InParts):
    """A trainer whose loss weights windows without an answer by ``empty_weight``."""

    def __init__(
        self, *args: Any, answered: np.ndarray, empty_weight: float, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.empty_weight = empty_weight
        self.mean_weight = float(np.where(answered, 1.0, empty_weight).mean())

    def compute_loss(
        self, model, inputs, return_outputs=False, num_items_in_batch=None
    ):
        """Return the mean over windows of weight x half the cross-entropy of start and end.

        Weights are divided by their mean over the data, not over the batch: a batch without answers must
        have less influence than one with answers.  Padding is masked, so that a window's loss does not depend
        on the other windows of its batch; the released code, which pads to full length, includes padding in
        the softmax.
        """
        starts, ends = inputs.pop("start_positions"), inputs.pop("end_positions")
        outputs = model(**inputs)
        padding = inputs["attention_mask"] == 0
        halves = (
            cross_entropy(
                logits.float().masked_fill(padding, -torch.inf),
                places,
                reduction="none",
            )
            for logits, places in (
                (outputs.start_logits, starts),
                (outputs.end_logits, ends),
            )
        )
        loss = sum(halves) / 2
        weights = torch.where(starts > 0, 1.0, self.empty_weight) / self.mean_weight
        loss = (weights * loss).mean()
        return (loss, outputs) if return_outputs else loss


def finetune(
    model: PreTrainedModel,
    dataset: WindowDataset,
    collator: Collator,
    *,
    learning_rate: float,
    epochs: float,
    batch_size: int,
    seed: int,
    work: Path,
    save_every: int,
    optimiser: Optimiser,
    bf16: bool = False,
    max_updates: int | None = None,
    empty_weight: float | None = None,
) -> int:
    """Fine-tune in place on the windows of ``dataset``, on the model's device.

    Windows are the balanced sample (`windows.balanced`, as in the released code), or all with
    ``empty_weight`` (`windows.empty_weight`, as in the paper's Section 4.1).

    Checkpoints are written to ``work`` every ``save_every`` updates; a run that finds one there resumes and
    ends with the weights of an uninterrupted run.  Returns the update from which it resumed (0 for a fresh
    start).
    """
    last = updates(len(dataset), batch_size, epochs, max_updates)
    settings = TrainingArguments(
        **arguments(work, last, seed=seed, save_every=save_every, device=model.device),
        **optimiser.arguments(learning_rate),
        per_device_train_batch_size=batch_size,
        remove_unused_columns=False,
    )
    trainer = _SpanTrainer(
        model=model,
        args=settings,
        train_dataset=dataset,
        data_collator=collator,
        mixed=mixed(bf16, model.device),
        decayed=optimiser.decayed,
        answered=dataset.windows.start_positions[dataset.rows] > 0,
        empty_weight=1.0 if empty_weight is None else empty_weight,
    )
    return checkpoints.train(trainer, work)
