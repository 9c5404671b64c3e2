"""Trainings whose batches are split into micro-batches after a simulated error out of
memory.
"""

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertForMaskedLM, BertForQuestionAnswering, TrainingArguments

from helpers import marked_contracts
from helpers.marked_contracts import WINDOWS, equal
from helpers.optimisers import optimiser
from helpers.small_trainings import (
    OTHER_ERRORS,
    OUT_OF_MEMORY,
    TRAINER_OPTIONS,
    Memory,
    batch_of,
    encoder,
    head_trainer,
    save_windows,
    small,
    trained,
)
from lextables.models import bi_encoder_training, cross_encoder, in_parts
from lextables.models.bi_encoder_training import GradedPairs
from lextables.models.checkpoints import arguments
from lextables.models.settings import UpdateSettings
from lextables.pipeline.errors import BadInput
from lextables.tasks.spans import pretraining
from lextables.tasks.spans import training as spans

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    """The training windows, the folder of a model with dropout, and the texts of the
    contracts.
    """
    return save_windows(tmp_path_factory.mktemp("train"))


def test_training_that_ran_out_of_memory_equals_training_with_micro_batches(
    learnt, tmp_path, monkeypatch
):
    whole, record, _ = trained(learnt, tmp_path / "whole")
    assert record == {"batch_size": 8, "micro_batch": 8, "halved_at_update": []}
    # Memory runs out in the second part of the first update, when the first part has
    # left gradients.
    monkeypatch.setattr(in_parts, "PROCESSOR_TOKENS", 4 * WINDOWS.max_length)
    halved, record, _ = trained(learnt, tmp_path / "halved", memory=1, after=1)
    assert record == {"batch_size": 8, "micro_batch": 1, "halved_at_update": [1, 1, 1]}
    monkeypatch.setattr(in_parts, "PROCESSOR_TOKENS", 1)
    begun, record, _ = trained(learnt, tmp_path / "begun")
    assert record == {"batch_size": 8, "micro_batch": 8, "halved_at_update": []}
    assert equal(halved, begun)
    # Dropout is sampled for each part.
    assert not equal(halved, whole)


def test_resumed_training_keeps_its_micro_batches(learnt, tmp_path, monkeypatch):
    # Three updates have one part each; memory runs out during the fourth.
    wanted, record, _ = trained(learnt, tmp_path / "unbroken", memory=4, after=3)
    assert record["halved_at_update"] == [4]
    step = spans._SpanTrainer.training_step

    def killed(self, *given):
        if self.state.global_step == 5:
            raise KeyboardInterrupt
        return step(self, *given)

    with monkeypatch.context() as patched:
        patched.setattr(spans._SpanTrainer, "training_step", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(learnt, tmp_path / "cut", memory=4, after=3)
    # Training resumes from the checkpoint of the fourth update, now with enough memory.
    got, record, resumed = trained(learnt, tmp_path / "cut")
    assert resumed == 4
    assert record == {"batch_size": 8, "micro_batch": 4, "halved_at_update": [4]}
    assert equal(got, wanted)


@pytest.fixture
def args(tmp_path):
    return TrainingArguments(**arguments(tmp_path, 1, seed=0, save_every=0, device=CPU))


def span_trainer(tokenizer, args):
    batch = batch_of(tokenizer) | {
        "start_positions": torch.tensor([1, 0, 2]),
        "end_positions": torch.tensor([2, 0, 4]),
    }
    answered = np.array([True, False, True])
    loss = {"answered": answered, "empty_weight": 0.3}
    model = small(BertForQuestionAnswering)
    return spans._SpanTrainer(model=model, args=args, **TRAINER_OPTIONS, **loss), batch


def masking_trainer(tokenizer, args):
    # The texts have different numbers of masked tokens.
    labels = torch.full((3, 9), -100)
    labels[0, 1], labels[1, :4], labels[2, 2:4] = 7, 8, 9
    batch = batch_of(tokenizer) | {"labels": labels}
    model = small(BertForMaskedLM)
    return pretraining._Trainer(model=model, args=args, **TRAINER_OPTIONS), batch


def pair_trainer(tokenizer, args, side):
    small().save_pretrained(args.output_dir)
    tokenizer.save_pretrained(args.output_dir)
    model = cross_encoder.load(args.output_dir, CPU, 16, fresh_head=True)
    model.tokenizer.padding_side = side
    given = args.to_dict() | {"prompts": None}
    given = cross_encoder.CrossEncoderTrainingArguments(**given)
    trainer = cross_encoder._Trainer(model=model, args=given, **TRAINER_OPTIONS)
    pairs = []
    for count in (1, 9, 5):
        pair = {"query": "which term", "clause": " ".join(["w1"] * count)}
        pairs.append(pair | {"label": count / 9})
    return trainer, trainer.data_collator(pairs)


@pytest.mark.parametrize(
    ("make", "side", "widths"),
    # Two parts, the longest texts first.  Each is cut to its longest text, if padding
    # is on the right.
    [
        (span_trainer, (), (9, 3)),
        (head_trainer, (), (9, 3)),
        (masking_trainer, (), (9, 3)),
        (pair_trainer, ("right",), (14, 6)),
        (pair_trainer, ("left",), (14, 14)),
    ],
)
def test_micro_batches_have_the_loss_and_gradients_of_the_batch(
    make, side, widths, args
):
    tokenizer = marked_contracts.tokenizer()

    def gradients(rows):
        trainer, batch = make(tokenizer, args, *side)
        trainer.rows = rows
        for part in trainer.model.modules():
            if isinstance(part, torch.nn.Dropout):
                part.p = 0.0
        seen = []
        first = encoder(trainer.model).encoder.layer[0]
        first.register_forward_pre_hook(
            lambda _, given: seen.append(tuple(given[0].shape[:2]))
        )
        loss = trainer.training_step(trainer.model, batch)
        found = {}
        for name, part in trainer.model.named_parameters():
            if part.grad is not None:
                found[name] = part.grad
        return loss, found, seen

    (whole, expected, (shape,)), (loss, found, shapes) = gradients(8), gradients(2)
    assert shape[0] == 3 and shapes == [(2, widths[0]), (1, widths[1])]
    assert loss.item() == pytest.approx(whole.item(), rel=1e-5)
    assert found.keys() == expected.keys() and len(found) > 10
    for name, gradient in expected.items():
        assert torch.allclose(found[name], gradient, atol=1e-6), name


def test_a_part_without_loss_terms_is_skipped(args):
    trainer, batch = masking_trainer(marked_contracts.tokenizer(), args)
    trainer.rows = 1
    batch["labels"][1] = -100
    assert torch.isfinite(trainer.training_step(trainer.model, batch))


def test_a_single_row_that_does_not_fit_raises(learnt, tmp_path):
    says = "one text and its gradients do not fit .* a device with more memory"
    with pytest.raises(BadInput, match=says):
        trained(learnt, tmp_path, memory=0)


@pytest.fixture
def sentence_encoder(tmp_path):
    small().save_pretrained(tmp_path / "body")
    marked_contracts.tokenizer().save_pretrained(tmp_path / "body")
    return SentenceTransformer(
        modules=[Transformer(str(tmp_path / "body")), Pooling(32)], device="cpu"
    )


def test_a_batch_is_not_split_if_the_loss_needs_all_rows(sentence_encoder, tmp_path):
    pairs = [(0, 0), (0, 1), (1, 1), (1, 0)]
    gains = {(0, 0): 1, (1, 1): 1}
    data = GradedPairs(pairs, ["w1", "w2"], ["w3", "w4"], gains)
    updates = {"updates": [1], "batch_size": 4, "learning_rate": 1e-3}
    settings = UpdateSettings(**updates, temperature=0.1, optimiser=optimiser())
    says = "a batch of 4 .* this loss needs the whole batch"
    with Memory(3).of(sentence_encoder) as model, pytest.raises(BadInput, match=says):
        bi_encoder_training.finetune(model, data, settings, 0, tmp_path, print)


@pytest.mark.parametrize(
    "error",
    [OUT_OF_MEMORY[0], OUT_OF_MEMORY[2], MemoryError(), OTHER_ERRORS[1]],
    ids=repr,
)
def test_an_optimiser_that_runs_out_of_memory_ends_the_training(
    learnt, tmp_path, monkeypatch, error
):
    # Its step has changed some of the weights, so it cannot be repeated.
    def step(self, closure=None):
        raise error

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    kind, says = BadInput, "optimiser state do not fit .* a device with more memory"
    if error in OTHER_ERRORS:
        kind, says = RuntimeError, "device-side assert"
    with pytest.raises(kind, match=says):
        trained(learnt, tmp_path)
