"""Throughput of training and inference, compared with manual counts, and numerical precision."""

import pytest
import torch
from transformers import (
    BertConfig,
    BertForQuestionAnswering,
    BertModel,
    TrainingArguments,
)

from lextables.models import checkpoints, precision, throughput
from lextables.models.checkpoints import arguments
from lextables.models.in_parts import InParts
from lextables.models.throughput import READING, TRAINING, count, measured
from lextables.pipeline.files import read_json
from lextables.pipeline.fingerprint import digests
from lextables.pipeline.run import recorded

CPU = torch.device("cpu")
BERT = BertConfig(
    vocab_size=50,
    hidden_size=8,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=20,
)


@pytest.fixture
def clock(monkeypatch):
    """A clock that the tests advance manually."""

    class Clock:
        now = 100.0

    monkeypatch.setattr(throughput.time, "monotonic", lambda: Clock.now)
    return Clock


def mask(*lengths):
    return {
        "attention_mask": torch.tensor(
            [[int(at < n) for at in range(max(lengths))] for n in lengths]
        )
    }


def test_a_record_has_tokens_per_second_and_padding(tmp_path, clock):
    model = BertForQuestionAnswering(BERT)
    with recorded(tmp_path / "run.json", {}):
        with measured(TRAINING, model):
            count(mask(3, 5))
            clock.now += 2
            with measured(READING, model):
                clock.now += 7
                count(mask(4))
            count({"query_" + name: value for name, value in mask(2).items()})
            clock.now += 2
        for _ in range(2):  # a second model of the job
            with measured(READING, model):
                count({"attention_mask": torch.tensor([[1] + 7 * [0]])})
                clock.now += 0.5
    found = read_json(tmp_path / "run.json")["throughput"]
    assert found[TRAINING] == {
        "tokens": 10,
        "places": 12,
        "seconds": 4.0,
        "tokens_per_second": 2,
        "padding_share": 0.1667,
        "precision": "float32",
    }
    reading = found[READING]
    assert (reading["tokens"], reading["places"], reading["seconds"]) == (6, 20, 8.0)


def test_nothing_is_recorded_without_counts(tmp_path):
    count(mask(3))
    with recorded(tmp_path / "run.json", {}), measured(READING, BertModel(BERT)):
        pass
    assert "throughput" not in read_json(tmp_path / "run.json")


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, at):
        ids = torch.arange(6) + at
        return {"input_ids": ids, "attention_mask": torch.ones(6, dtype=torch.long)} | {
            "start_positions": at % 6,
            "end_positions": at % 6,
        }


def test_a_training_records_its_tokens(tmp_path):
    model = BertForQuestionAnswering(BERT)
    args = TrainingArguments(
        **arguments(tmp_path, 3, seed=0, save_every=0, device=CPU),
        per_device_train_batch_size=4,
    )
    trainer = InParts(
        model=model, args=args, train_dataset=Texts(), mixed=False, decayed="weights"
    )
    with recorded(tmp_path / "run.json", {}) as record:
        checkpoints.train(trainer, tmp_path)
    assert record["throughput"][TRAINING]["tokens"] == 3 * 4 * 6


def test_throughput_is_not_in_fingerprints():
    assert "lextables/models/throughput.py" not in digests(
        "lextables.models.checkpoints"
    )


@pytest.mark.parametrize("has", [True, False])
@pytest.mark.parametrize("asked", [True, False])
def test_mixed_precision(monkeypatch, has, asked):
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: has
    )
    gpu, processor = (
        arguments("work", 1, seed=0, save_every=0, device=torch.device(kind))
        for kind in ("cuda", "cpu")
    )
    assert precision.mixed(asked, torch.device("cuda")) == (has or asked)
    assert precision.mixed(asked, CPU) == asked
    assert not precision.mixed(asked, torch.device("cuda"), able=False)
    assert gpu["optim"] == "adamw_torch_fused" and processor["optim"] == "adamw_torch"
    assert [given["dataloader_pin_memory"] for given in (gpu, processor)] == [
        True,
        False,
    ]
    assert [given["dataloader_num_workers"] > 0 for given in (gpu, processor)] == [
        True,
        False,
    ]


def test_tf32(monkeypatch):
    gpu = torch.device("cuda")
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: False
    )
    with precision.tf32(gpu):  # a GPU without bfloat16
        assert precision.precision_name(torch.float32, gpu) == "float32"
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: True
    )
    with precision.tf32(gpu):
        assert precision.precision_name(torch.float32, gpu) == "TF32"
        assert precision.precision_name(torch.bfloat16, gpu) == "bfloat16"
        assert precision.precision_name(torch.float32, CPU) == "float32"
    for device, wanted in ((gpu, False), (CPU, True)):
        with precision.tf32(device, wanted):
            assert precision.precision_name(torch.float32, gpu) == "float32"
