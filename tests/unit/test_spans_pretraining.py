"""Pretraining on contracts with a randomly initialised model of two layers."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertForMaskedLM, PreTrainedTokenizerFast

from helpers import marked_contracts
from helpers.killed import killed
from helpers.optimisers import optimiser
from helpers.recorded_seeds import record_seeds
from helpers.wordpiece import wordpiece
from lextables.models import loading
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import pretraining
from lextables.tasks.spans.settings import Pretraining

CPU = torch.device("cpu")
WORDS = [f"w{number}" for number in range(12)]
MAX_LENGTH = 18
SETTINGS = Pretraining(
    updates=6,
    batch_size=4,
    max_length=MAX_LENGTH,
    learning_rate=5e-3,
    optimiser=optimiser(schedule="linear", clip=1.0),
)
JOB = {"seed": 3, "device": CPU}


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return wordpiece(WORDS)


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model")
    torch.manual_seed(0)
    BertForMaskedLM(marked_contracts.config(tokenizer)).save_pretrained(path)
    tokenizer.save_pretrained(path)
    return str(path)


def texts(count: int = 12, words: int = 40) -> list[str]:
    """Texts that repeat one word, so that a masked word can be predicted from its
    neighbours.
    """
    return [" ".join([WORDS[number % len(WORDS)]] * words) for number in range(count)]


def losses(work: Path) -> list[float]:
    last = max(
        work.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2])
    )
    history = json.loads((last / "trainer_state.json").read_text())["log_history"]
    return [entry["loss"] for entry in history if "loss" in entry]


def test_texts_are_packed_into_blocks_with_separators_between_them(tokenizer, tmp_path):
    path = tmp_path / "blocks.bin"
    count = pretraining.pack(
        tokenizer, ["w0 w1 w2", "", "w3 w4", "w5 w6 w7 w8"], path, 6, most=100
    )
    blocks = pretraining.Blocks(path, tokenizer, 6)
    words = [
        tokenizer.convert_ids_to_tokens(blocks[at]["input_ids"].tolist())
        for at in range(len(blocks))
    ]
    assert count == 3
    assert words == [
        ["[CLS]", "w0", "w1", "w2", "[SEP]", "[SEP]"],
        ["[CLS]", "w3", "w4", "[SEP]", "w5", "[SEP]"],
        ["[CLS]", "w6", "w7", "w8", "[SEP]", "[SEP]"],
    ]


def test_only_the_needed_texts_are_read(tokenizer, tmp_path):
    def endless():
        while True:
            yield "w1 w2 w3"

    assert (
        pretraining.pack(tokenizer, endless(), tmp_path / "blocks.bin", 6, most=70)
        == 70
    )
    assert (tmp_path / "blocks.bin").stat().st_size == 70 * 4 * 2


def test_too_little_text_raises(tokenizer, tmp_path):
    with pytest.raises(BadInput, match="have 3 tokens, less than one block of 4"):
        pretraining.pack(tokenizer, ["w1 w2"], tmp_path / "blocks.bin", 6, most=1)
    assert not (tmp_path / "blocks.bin").exists()


def test_masks_depend_only_on_the_seed_and_the_blocks(tokenizer):
    ids = np.array([tokenizer.cls_token_id, *[7] * 500, tokenizer.sep_token_id])

    def masked(seed, *indices):
        torch.manual_seed(len(indices))
        state = torch.get_rng_state()
        batch = pretraining.Masking(tokenizer, seed)(
            [{"index": i, "input_ids": ids} for i in indices]
        )
        assert torch.equal(torch.get_rng_state(), state)
        return batch["labels"]

    labels = masked(0, 1, 2)
    assert torch.equal(labels, masked(0, 1, 2))
    assert not torch.equal(labels, masked(1, 1, 2))
    assert not torch.equal(labels, masked(0, 2, 1).flip(0))
    assert not torch.equal(labels[0], labels[1])
    assert (labels[:, [0, -1]] == -100).all()
    assert 0.11 < (labels != -100).float().mean() < 0.19


def test_the_loss_decreases_and_span_extraction_can_load_the_weights(folder, tmp_path):
    work, output = tmp_path / "work", tmp_path / "pretrained"
    changes = {"updates": 60, "batch_size": 16, "learning_rate": 1e-2}
    settings = SETTINGS.model_copy(update=changes)
    files = {"work": work, "output": output}
    assert pretraining.pretrain(folder, texts(60), settings, **files, **JOB) == 0
    found = losses(work)
    assert found[-1] < 0.6 * found[0]
    model = loading.load_span_model(str(output), CPU)
    trained = load_file(output / "model.safetensors")
    assert torch.equal(
        model.bert.encoder.layer[1].output.dense.weight,
        trained["bert.encoder.layer.1.output.dense.weight"],
    )
    assert (output / "tokenizer.json").exists()


def test_each_random_part_uses_the_seed_of_the_run(folder, tmp_path, monkeypatch):
    """The initial head, the masks, and dropout (the trainer's seed)."""
    parts = ("set_seed", "Masking", "arguments")
    seeds = record_seeds(monkeypatch, *((pretraining, name) for name in parts))
    files = {"work": tmp_path / "work", "output": tmp_path / "model"}
    settings = SETTINGS.model_copy(update={"updates": 1})
    pretraining.pretrain(folder, texts(6), settings, **files, **JOB)
    assert seeds == {name: {3} for name in parts}


def test_a_resumed_pretraining_has_the_same_weights(folder, tmp_path):
    def train(name, some):
        return pretraining.pretrain(
            folder,
            some,
            SETTINGS,
            work=tmp_path / name / "work",
            output=tmp_path / name / "model",
            **JOB,
        )

    # Fifteen blocks are four updates, so the process ends in the second epoch.
    few = texts(6)
    assert train("unbroken", few) == 0
    with killed(pretraining.Blocks, "__getitem__", call=21):
        train("broken", few)
    assert not (tmp_path / "broken" / "model").exists()
    # The blocks exist already, so no text is read again.
    assert train("broken", iter(())) == 4
    one, other = (
        (tmp_path / name / "model" / "model.safetensors").read_bytes()
        for name in ("unbroken", "broken")
    )
    assert one == other
