"""Activations are recomputed where one text does not fit."""

import pytest
import torch
from transformers import AlbertConfig, AlbertModel, TrainingArguments

from helpers import marked_contracts
from helpers.small_trainings import head_trainer, small
from lextables.models import in_parts
from lextables.models.checkpoints import arguments
from lextables.pipeline.errors import BadInput

CPU = torch.device("cpu")


@pytest.fixture
def args(tmp_path):
    return TrainingArguments(**arguments(tmp_path, 1, seed=0, save_every=0, device=CPU))


def test_activations_are_recomputed_before_a_text_is_too_large(
    args, monkeypatch, caplog
):
    """With one text memory runs out until activations are recomputed; gradients are the
    same.
    """
    tokenizer = marked_contracts.tokenizer()
    batch = {
        name: value[1:2]
        for name, value in head_trainer(tokenizer, args)[1].items()
        if name != "head"
    }
    batch["head"] = [0]
    batch["label"] = torch.tensor([0])
    gradients = []
    for fits in (True, False):
        trainer, _ = head_trainer(tokenizer, args)
        backward = trainer._backward

        def step(model, part, fits=fits, backward=backward):
            if not fits and not model.body.is_gradient_checkpointing:
                return None
            return backward(model, part)

        monkeypatch.setattr(trainer, "_backward", step)
        trainer.training_step(trainer.model, batch)
        assert trainer.model.body.is_gradient_checkpointing is not fits
        assert trainer.halved == []
        parameters = trainer.model.named_parameters()
        gradients.append(
            {name: part.grad for name, part in parameters if part.grad is not None}
        )
    assert gradients[0].keys() == gradients[1].keys()
    assert all(
        torch.equal(gradients[0][name], gradients[1][name]) for name in gradients[0]
    )
    monkeypatch.setattr(trainer, "_backward", lambda model, part: None)
    with pytest.raises(BadInput, match="one text and its gradients do not fit"):
        trainer.training_step(trainer.model, batch)


def test_albert_is_not_asked_to_recompute_activations():
    tiny = AlbertConfig(
        vocab_size=20,
        embedding_size=8,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=8,
    )
    assert not in_parts.recompute_activations(AlbertModel(tiny))
    bert = small()
    assert in_parts.recompute_activations(bert)
    assert not in_parts.recompute_activations(bert)
