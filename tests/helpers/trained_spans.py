"""A short training of a tiny span-extraction model."""

from pathlib import Path

import torch

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS, WORDINGS
from helpers.optimisers import LINEAR
from lextables.models import loading
from lextables.tasks.spans.settings import FineTuning
from lextables.tasks.spans.training import finetune
from lextables.tasks.spans.windows import (
    Collator,
    WindowDataset,
    balanced,
    open_windows,
)

CPU = torch.device("cpu")


def changed(settings, **changes):
    """Return a copy of settings with other values of some fields."""
    return settings.model_copy(update=changes)


def dataset_of(folder, rows) -> WindowDataset:
    """Return the windows of a folder with these indices."""
    words = marked_contracts.tokenizer()
    return WindowDataset(folder, words, WINDOWS, WORDINGS, rows)


def sampled(folder: Path, most: int | None = None) -> WindowDataset:
    """Return the windows with an answer and as many without one, ``most`` of all."""
    windows = open_windows(folder)
    rows = balanced(windows.start_positions, windows.end_positions, seed=0)
    return dataset_of(folder, rows[:most])


def tuned(folder, dataset, work, seed=0, **settings):
    """Fine-tune a model from a folder; return it and the update from which training
    resumed.
    """
    model = loading.load_span_model(folder, CPU, seed=0)
    settings = {"learning_rate": 1e-3, "epochs": 2, "batch_size": 16, **settings}
    updates_ = FineTuning(**settings, optimiser=LINEAR)
    collator = Collator.of(dataset.tokenizer)
    return model, finetune(model, dataset, collator, updates_, seed=seed, work=work)
