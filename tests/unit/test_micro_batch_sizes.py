"""The parts of a batch before any error: their number of tokens on a processor, and
their padding on a GPU.
"""

from itertools import chain
from types import SimpleNamespace

import pytest
import torch
from transformers import TrainingArguments

from helpers import marked_contracts
from helpers.small_trainings import TRAINER_OPTIONS, head_trainer, small
from lextables.models import in_parts
from lextables.models.checkpoints import arguments
from lextables.models.in_parts import InParts

CPU = torch.device("cpu")


@pytest.fixture
def args(tmp_path):
    return TrainingArguments(**arguments(tmp_path, 1, seed=0, save_every=0, device=CPU))


@pytest.mark.parametrize(
    ("tokens", "device", "parts"),
    [
        (27, "cpu", [(3, 9)]),
        (26, "cpu", [(2, 9), (1, 3)]),
        (9, "cpu", [(1, 9), (1, 5), (1, 3)]),
        (1, "cpu", [(1, 9), (1, 5), (1, 3)]),
        (1, "cuda", [(3, 9)]),
    ],
)
def test_a_processor_has_a_bound_on_the_tokens_of_a_part(
    tokens, device, parts, args, monkeypatch
):
    monkeypatch.setattr(in_parts, "PROCESSOR_TOKENS", tokens)
    trainer, batch = head_trainer(marked_contracts.tokenizer(), args)
    monkeypatch.setattr(TrainingArguments, "device", torch.device(device))
    shares, found = zip(*trainer._parts(batch), strict=True)
    assert [tuple(part["input_ids"].shape) for part in found] == parts
    assert sum(shares) == pytest.approx(1)

    def rows(part):
        first = part["input_ids"][:, 0].tolist()
        return list(zip(first, part["head"], part["label"].tolist(), strict=True))

    # Values of a row stay together, in tensors and lists.
    assert sorted(chain(*map(rows, found))) == sorted(rows(batch))


@pytest.mark.parametrize(
    ("mask", "ends"),
    [
        ([[1, 1, 0], [1, 1, 1]], [2, 3]),
        ([[0, 0, 1], [1, 1, 1]], [3, 3]),
        ([[1, 0, 1], [0, 0, 0]], [3, 1]),
    ],
)
def test_ends_of_texts(mask, ends):
    assert in_parts._ends(torch.tensor(mask)) == ends


class OneGpu(SimpleNamespace):
    """Arguments of a trainer on a GPU, as far as `_parts` reads them."""

    device = SimpleNamespace(type="cuda")


def test_on_a_gpu_a_batch_of_mostly_padding_is_read_in_parts_of_similar_length(args):
    trainer = InParts(model=small(), args=args, **TRAINER_OPTIONS)
    trainer.args = OneGpu()
    trainer.rows = 16
    lengths = torch.tensor([4096, 100, 2048, 500, 3000, 1000])
    mask = (torch.arange(4096) < lengths[:, None]).long()
    batch = {"input_ids": mask.clone(), "attention_mask": mask}
    shapes = [tuple(part["input_ids"].shape) for _, part in trainer._parts(batch)]
    assert shapes == [(1, 4096), (1, 3000), (2, 2048), (2, 500)]
    padded = sum(rows * width for rows, width in shapes)
    assert padded < 0.6 * mask.numel()
    full = {name: value[[0, 0, 4, 0]] for name, value in batch.items()}
    assert [share for share, _ in trainer._parts(full)] == [1]
    # Running out of memory still halves the parts.
    trainer.rows = 1
    assert len(list(trainer._parts(batch))) == 6


@pytest.mark.parametrize(
    ("real", "device", "tokens"),
    [
        (74, "cuda", in_parts.GPU_TOKENS),
        (75, "cuda", None),
        (100, "cuda", None),
        (100, "cpu", in_parts.PROCESSOR_TOKENS),
        (10, "cpu", in_parts.PROCESSOR_TOKENS),
    ],
)
def test_on_a_gpu_parts_are_limited_if_more_than_a_quarter_of_the_batch_is_padding(
    real, device, tokens
):
    mask = (torch.arange(100) < real).long()[None]
    assert in_parts.tokens_at_once(mask, device) == tokens


@pytest.mark.parametrize(
    ("rows", "shapes"), [(4, [(4, 100), (2, 100)]), (6, [(6, 100)])]
)
def test_without_a_mask_all_tokens_are_those_of_texts(rows, shapes, args):
    trainer = InParts(model=small(), args=args, **TRAINER_OPTIONS)
    trainer.rows = rows
    parts = trainer._parts({"input_ids": torch.ones(6, 100, dtype=torch.int64)})
    assert [tuple(part["input_ids"].shape) for _, part in parts] == shapes
