"""Training without padding: equal losses and gradients, or an unchanged model and the reason."""

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import (
    AlbertConfig,
    AutoModel,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    DistilBertConfig,
    ElectraConfig,
    MPNetConfig,
    PreTrainedModel,
    XLMRobertaConfig,
    set_seed,
)

from lextables.models import multi_head, unpadding
from lextables.models.multi_head import MultiHead
from tiny_encoders import CONFIGS, SMALL


@pytest.fixture(autouse=True)
def nothing_tried(monkeypatch):
    monkeypatch.setattr(unpadding, "_reasons", {})


# Large weights, so that errors of a kernel are visible.
WIDE = {"initializer_range": 0.3}
LENGTHS = (12, 1, 40, 33)  # the longest text sets the width of the batch
TAKEN = {
    "bert": CONFIGS["bert"],
    "roberta": CONFIGS["roberta"],
    "modernbert": CONFIGS["modernbert"],
    "electra": ElectraConfig(**SMALL, embedding_size=16, max_position_embeddings=64),
    "albert": AlbertConfig(**SMALL, embedding_size=16, max_position_embeddings=64),
    "xlm-roberta": XLMRobertaConfig(**SMALL, max_position_embeddings=66, type_vocab_size=1),
    "distilbert": DistilBertConfig(
        vocab_size=40,
        dim=32,
        hidden_dim=48,
        n_layers=2,
        n_heads=2,
        pad_token_id=1,
        max_position_embeddings=64,
    ),
}
LEFT = {
    "deberta": CONFIGS["deberta"],
    "bigbird": CONFIGS["bigbird"],
    "mpnet": MPNetConfig(**SMALL, max_position_embeddings=66),
}


def made(config, loader=AutoModel, **changed) -> PreTrainedModel:
    set_seed(0)
    # In double precision, to exclude rounding.
    return loader.from_config(type(config).from_dict(config.to_dict() | WIDE | changed)).double()


def batch(config, lengths=LENGTHS) -> dict[str, torch.Tensor]:
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ids = torch.randint(4, 40, mask.shape, generator=torch.Generator().manual_seed(1))
    ids[2, 5] = config.pad_token_id  # a real token with the id of padding
    given = {"input_ids": ids.masked_fill(~mask, config.pad_token_id), "attention_mask": mask.long()}
    if getattr(config, "type_vocab_size", 0) > 1:
        given["token_type_ids"] = (torch.arange(max(lengths)) > 6).long() * mask
    return given


def gradients(model: torch.nn.Module, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    model.zero_grad()
    loss.backward()
    return {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}


def assert_alike(padded: Mapping[str, torch.Tensor], unpadded: Mapping[str, torch.Tensor]) -> None:
    assert padded.keys() == unpadded.keys()
    # Some gradients are only rounding errors: the softmax cancels the bias of the keys.
    least = max(float(one.abs().max()) for one in padded.values()) * 1e-12
    for name, one in padded.items():
        torch.testing.assert_close(unpadded[name], one, rtol=1e-6, atol=least, msg=name)


def counted(model: PreTrainedModel) -> list[int]:
    """The number of tokens in each call of the encoder's first layer."""
    seen: list[int] = []
    layer = model.base_model.get_input_embeddings()
    layer.register_forward_hook(lambda module, given, found: seen.append(found.shape[:-1].numel()))
    return seen


def span_loss(model: PreTrainedModel, given: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """The loss of the span trainer: an answer cannot begin or end in the padding."""
    found, padding = model(**given), given["attention_mask"] == 0
    places = torch.tensor([3, 0, 39, 7])
    both = (found.start_logits, found.end_logits)
    return sum(cross_entropy(logits.masked_fill(padding, -torch.inf), places) for logits in both) / 2


@pytest.mark.parametrize("family", TAKEN)
def test_loss_and_gradients_of_spans_equal_those_of_a_padded_batch(family):
    model = made(TAKEN[family], AutoModelForQuestionAnswering).eval()
    given = batch(model.config)
    loss = span_loss(model, given)
    wanted = gradients(model, loss)
    assert unpadding.unpad(model).startswith("unpadded")
    seen = counted(model)
    found = span_loss(model, given)
    assert seen == [sum(LENGTHS)]
    torch.testing.assert_close(found, loss, rtol=1e-5, atol=1e-6)
    assert_alike(wanted, gradients(model, found))


@pytest.mark.parametrize("kind", ["family", "own"])
@pytest.mark.parametrize("family", ["albert", "bert", "roberta", "modernbert"])
def test_loss_and_gradients_of_heads_equal_those_of_a_padded_batch(family, kind):
    loader = AutoModel if kind == "own" else AutoModelForSequenceClassification
    body = made(TAKEN[family], loader, num_labels=5)
    own = (
        None
        if kind == "family"
        else torch.nn.ModuleList(multi_head._own_head(body.config, n) for n in (2, 3))
    )
    model = MultiHead(body, own, [2, 3]).double().eval()
    given = batch(body.config)

    def loss() -> torch.Tensor:
        read = model.represent(**given)
        return sum(cross_entropy(model.answer(read, head), torch.tensor([1, 0, 0, 1])) for head in (0, 1))

    padded = loss()
    wanted = gradients(model, padded)
    assert unpadding.unpad(body).startswith("unpadded")
    unpadded = loss()
    torch.testing.assert_close(unpadded, padded, rtol=1e-5, atol=1e-6)
    assert_alike(wanted, gradients(model, unpadded))


@pytest.mark.parametrize("window", [None, 4])
def test_the_kernel_for_gpus_has_the_right_shapes_and_gradients(window):
    """Its values can only be tested on a GPU, which `unpad_on` does."""
    heads = torch.empty(86, 2, 16, dtype=torch.bfloat16, device="meta", requires_grad=True)
    lengths, places = torch.empty(4, dtype=torch.int64, device="meta"), torch.empty(86, device="meta")
    packed = unpadding._Packed(lengths, places, torch.Size((4, 40)))
    found = unpadding._flash(heads, heads, heads, packed, 0.1 if window is None else 0.0, 0.25, window)
    (gradient,) = torch.autograd.grad(found.sum(), heads)
    assert found.shape == gradient.shape == heads.shape
    assert found.dtype == torch.bfloat16


@pytest.mark.parametrize("family", LEFT)
def test_architectures_with_custom_attention_stay_padded(family):
    model = made(LEFT[family])
    given, before = batch(model.config), model.config._attn_implementation
    wanted = model.eval()(**given).last_hidden_state
    assert unpadding.unpad(model) == f"padded: {type(model).__name__} has its own implementation of attention"
    assert model.config._attn_implementation == before
    assert torch.equal(model(**given).last_hidden_state, wanted)


def mixed(query, key, value, packed, dropout, scaling, window):
    """A kernel in which each text attends to all other texts."""
    whole = SimpleNamespace(lengths=packed.lengths.sum()[None])
    return kernel(query, key, value, whole, dropout, scaling, window)


def unwindowed(query, key, value, packed, dropout, scaling, window):
    return kernel(query, key, value, packed, dropout, scaling, None)


def not_finite_in_training(query, key, value, packed, dropout, scaling, window):
    return kernel(query, key, value, packed, 0.0, scaling, window) / (dropout == 0)


def raising(*given):
    raise RuntimeError("no kernel image is available\nfor this device")


kernel = unpadding._one_at_a_time


@pytest.mark.parametrize(
    ("family", "wrong", "reason"),
    [
        ("bert", mixed, "unpadded outputs of BertModel differ from padded ones by"),
        ("modernbert", unwindowed, "unpadded outputs of ModernBertModel differ from padded ones by"),
        ("roberta", not_finite_in_training, "unpadded outputs of RobertaModel are not finite in training"),
        ("bert", raising, "BertModel cannot run unpadded (RuntimeError: no kernel image is available)"),
    ],
)
def test_a_wrong_kernel_is_detected_and_not_used(family, wrong, reason, monkeypatch):
    model = made(TAKEN[family])
    given = batch(model.config)
    wanted = model.eval()(**given).last_hidden_state
    monkeypatch.setattr(unpadding, "_one_at_a_time", wrong)
    assert unpadding.unpad(model).startswith(f"padded: {reason}")
    assert torch.equal(model(**given).last_hidden_state, wanted)
    assert not model.training


def test_dropout_is_the_same_with_gradient_checkpointing():
    model = made(TAKEN["bert"], attention_probs_dropout_prob=0.5, hidden_dropout_prob=0.0).train()
    given = batch(model.config)
    state = torch.random.get_rng_state()
    assert unpadding.unpad(model).startswith("unpadded")
    assert torch.equal(torch.random.get_rng_state(), state), (
        "trying it out must not shift what training draws"
    )

    def loss() -> torch.Tensor:
        set_seed(2)
        return model(**given).last_hidden_state[given["attention_mask"].bool()].tanh().square().mean()

    first = loss()
    wanted = gradients(model, first)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    again = loss()
    assert torch.equal(again, first)
    assert_alike(wanted, gradients(model, again))
    model.eval()
    assert abs(float(loss().detach() - first.detach())) > 1e-3


def test_inference_is_unchanged():
    model = made(TAKEN["roberta"]).eval()
    given = batch(model.config)
    with torch.no_grad():
        wanted = model(**given).last_hidden_state
    unpadding.unpad(model)
    for without in (torch.no_grad, torch.inference_mode):
        with without():
            assert torch.equal(model(**given).last_hidden_state, wanted)
    assert not torch.equal(model(**given).last_hidden_state, wanted)


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_padding_on_the_left_and_inside_a_text_is_removed(family):
    model = made(TAKEN[family]).eval()
    given = {name: part.flip(1) for name, part in batch(model.config).items()}
    given["attention_mask"][3, 20:23] = 0
    real = given["attention_mask"].bool()
    wanted = model(**given).last_hidden_state[real]
    unpadding.unpad(model)
    found = model(**given).last_hidden_state
    torch.testing.assert_close(found[real], wanted, rtol=1e-4, atol=1e-5)
    assert not found[~real].any()


def test_batches_without_padding_and_other_outputs_are_unchanged():
    model = made(TAKEN["modernbert"]).eval()
    plain, ragged = batch(model.config, (40, 40, 40)), batch(model.config)

    def called() -> list[torch.Tensor]:
        return [
            model(**plain).last_hidden_state,
            model(**ragged, output_hidden_states=True).hidden_states[-1],
            model(**ragged, return_dict=False)[0],
        ]

    wanted = called()
    unpadding.unpad(model)
    seen = counted(model)
    for one, right in zip(called(), wanted, strict=True):
        torch.testing.assert_close(one, right)
    assert seen == [120, 160, 160]


def test_saved_files_are_unchanged(tmp_path):
    for name in ("left", "unpadded"):
        model = made(TAKEN["roberta"])
        if name == "unpadded":
            assert unpadding.unpad(model).startswith("unpadded")
        model.save_pretrained(tmp_path / name)
    left, unpadded = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("left", "unpadded")
    )
    assert left == unpadded
