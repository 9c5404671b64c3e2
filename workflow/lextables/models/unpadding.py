"""Training of encoders without computing on padding.

A padded batch passes through an encoder as one sequence of all its real tokens, each with the position in its
own text, and is padded again afterwards, with zeros.  Attention is computed within each text: on a GPU by
torch's flash kernel for sequences of different lengths, on a CPU one text at a time.  Linear layers, norms
and dropout never see padding, which often is a third to a half of random batches.  Batches and heads are not
affected, and neither is inference (without gradients).

Implemented with two hooks on the encoder and an attention function in transformers' `AttentionInterface`.
Each architecture is tested first: padded and unpadded outputs and gradients must agree on a batch of texts of
different lengths, else the model is left unchanged.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn.functional import pad, scaled_dot_product_attention
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from lextables.models.loading import quiet
from lextables.models.positions import positions

NAME = "lextables_unpadded"
_TEST_LENGTH = 192  # tokens; longer than ModernBERT's window
_HALF = (torch.bfloat16, torch.float16)
_PACKED = "packed"
# Outputs that can be padded again.
_KNOWN = {"last_hidden_state", "pooler_output"}
_reasons: dict[tuple[object, ...], str] = {}


def unpad_on(model: PreTrainedModel, device: torch.device) -> str:
    """Move ``model`` to ``device`` and let its encoder skip padding there if possible; return the outcome.

    On a GPU only in half precision (autocast or weights), because torch's kernel does not support single
    precision.  The model is otherwise unchanged if the returned sentence begins with "padded".
    """
    half = device.type == "cuda"
    return unpad(model.to(device), torch.bfloat16 if half else torch.float32)


def unpad(model: PreTrainedModel, precision: torch.dtype = torch.float32) -> str:
    """As `unpad_on`, on the device of ``model``; ``precision`` is that of the test (half: with autocast)."""
    encoder = model.base_model
    before = encoder.config._attn_implementation
    if before != NAME:
        with quiet():
            model.set_attn_implementation(NAME)
        if encoder.config._attn_implementation != NAME:
            return f"padded: {type(encoder).__name__} has its own implementation of attention"
        if reason := _reason_against(encoder, precision):
            model.set_attn_implementation(before)
            return f"padded: {reason}"
        encoder.register_forward_pre_hook(_pack, with_kwargs=True)
        encoder.register_forward_hook(_pad_again, with_kwargs=True)
    return "unpadded: the encoder does not compute on padding"


@dataclass(frozen=True)
class _Packed:
    """The texts of a packed batch: lengths (texts,), and positions of their tokens in the padded batch."""

    lengths: torch.Tensor
    places: torch.Tensor
    shape: torch.Size


def attend(
    module: nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Attention for `AttentionInterface`: within each text for packed batches, else torch's own.

    ``query``, ``key`` and ``value`` of packed texts are (1, heads, tokens, width); the result is
    (1, tokens, heads, width).
    """
    packed = others.pop(_PACKED, None)
    if packed is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, dropout, scaling, **others)
    # transformers includes the token itself in the window, torch's kernel does not.
    window = None if others.get("sliding_window") is None else others["sliding_window"] - 1
    kernel = _flash if value.is_cuda else _one_at_a_time
    parts = (part[0].transpose(0, 1).to(value.dtype) for part in (query, key, value))
    return kernel(*parts, packed, dropout, scaling, window)[None], None


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)


def _flash(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    packed: _Packed,
    dropout: float,
    scaling: float | None,
    window: int | None,
) -> torch.Tensor:
    """Attention within each text, (tokens, heads, width) in half precision on a GPU.

    `torch.nn.attention.varlen.varlen_attn` is the same without dropout, which BERT and RoBERTa need.
    """
    starts, longest = pad(packed.lengths.cumsum(0, dtype=torch.int32), (1, 0)), packed.shape[1]
    sides = {} if window is None else {"window_size_left": window, "window_size_right": window}
    return torch.ops.aten._flash_attention_forward(
        query, key, value, starts, starts, longest, longest, dropout, False, False, scale=scaling, **sides
    )[0]


def _one_at_a_time(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    packed: _Packed,
    dropout: float,
    scaling: float | None,
    window: int | None,
) -> torch.Tensor:
    """As `_flash`, in any precision on any device."""
    outputs, counts = [], packed.lengths.tolist()
    for parts in zip(*(tensor.split(counts) for tensor in (query, key, value)), strict=True):
        mask = None
        if window is not None:
            places = torch.arange(len(parts[0]), device=query.device)
            mask = (places[:, None] - places).abs() <= window
        by_head = (part.transpose(0, 1) for part in parts)
        outputs.append(
            scaled_dot_product_attention(*by_head, attn_mask=mask, dropout_p=dropout, scale=scaling)
        )
    return torch.cat(outputs, dim=1).transpose(0, 1)


def _pack(
    encoder: PreTrainedModel, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Replace the arguments of a padded batch by those of its real tokens; return None to change nothing.

    Calls without gradients are not changed, so that predictions are bitwise equal to those of a loaded model.
    """
    if not torch.is_grad_enabled():
        return None
    arguments = {name: value for name, value in kwargs.items() if value is not None and value is not False}
    ids, mask = args[0] if args else arguments.get("input_ids"), arguments.get("attention_mask")
    plain = arguments.keys() <= {"input_ids", "attention_mask", "token_type_ids", "return_dict"}
    more = encoder.config.output_hidden_states or encoder.config.output_attentions
    more = more or kwargs.get("return_dict") is False or len(args) > 1
    if not plain or more or ids is None or mask is None or mask.dim() != 2:
        return None
    if ids.is_cuda and _precision(encoder) not in _HALF:
        return None
    (places,) = mask.flatten().nonzero(as_tuple=True)
    if len(places) == mask.numel():
        return None
    padded = {"input_ids": ids, "position_ids": _positions(encoder, ids)}
    if "token_type_ids" in arguments:
        padded["token_type_ids"] = arguments["token_type_ids"]
    return (), {
        **{name: tensor.flatten()[places][None] for name, tensor in padded.items()},
        # A mask with four dimensions is used unchanged; without a mask a full (tokens, tokens) mask is
        # created.
        "attention_mask": mask[None, None, :0],
        _PACKED: _Packed(mask.sum(dim=1), places, mask.shape),
    }


def _pad_again(encoder: PreTrainedModel, args: Any, kwargs: Mapping[str, Any], output: Any) -> Any:
    """Return the outputs of packed tokens at their positions in the padded batch, with zeros elsewhere."""
    if _PACKED not in kwargs:
        return None
    if unknown := {*output} - _KNOWN:
        raise TypeError(f"the encoder also returns {', '.join(sorted(unknown))}")
    packed, states = kwargs[_PACKED], output["last_hidden_state"][0]
    padded = states.new_zeros(packed.shape.numel(), states.shape[-1]).index_copy(0, packed.places, states)
    output["last_hidden_state"] = padded.view(*packed.shape, -1)
    if output.get("pooler_output") is not None:
        output["pooler_output"] = _pooled(encoder, output["last_hidden_state"])
    return output


def _pooled(encoder: PreTrainedModel, states: torch.Tensor) -> torch.Tensor:
    """Return the pooled first tokens of all texts; the packed encoder pooled only that of the first text."""
    if isinstance(encoder.pooler, nn.Linear):  # ALBERT's
        return encoder.pooler_activation(encoder.pooler(states[:, 0]))
    return encoder.pooler(states)


def _positions(encoder: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """Return the position ids that the architecture uses in a padded batch, (texts, tokens)."""
    embeddings = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    if (padding := getattr(embeddings, "padding_idx", None)) is None:
        return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    real = ids.ne(padding).long()
    return real.cumsum(dim=1) * real + padding


def _precision(encoder: PreTrainedModel) -> torch.dtype:
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else encoder.dtype


def _reason_against(encoder: PreTrainedModel, precision: torch.dtype) -> str:
    """Return why an encoder cannot run unpadded; empty if it can.

    Each architecture is tested once per process, because each of MAUD's questions has its own model.
    """
    key = (type(encoder).__name__, encoder.config.to_json_string(), str(encoder.device), precision)
    if key not in _reasons:
        _reasons[key] = _tested(encoder, precision)
    return _reasons[key]


def _tested(encoder: PreTrainedModel, precision: torch.dtype) -> str:
    """As `_reason_against`, by computing a batch padded and unpadded.

    The reference is padded in single precision.  Unpadded may differ from it twice as much as padded in
    ``precision`` does.  A step with dropout must be finite.
    """
    training, device, hooks = encoder.training, encoder.device, []
    half = torch.autocast(device.type, precision, enabled=precision in _HALF)
    batch = _test_batch(encoder)
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            encoder.eval()
            reference = _outcome(encoder, batch)
            with half:
                allowed = [2 * error + 1e-4 for error in _errors(_outcome(encoder, batch), reference)]
                hooks.append(encoder.register_forward_pre_hook(_pack, with_kwargs=True))
                hooks.append(encoder.register_forward_hook(_pad_again, with_kwargs=True))
                errors = _errors(_outcome(encoder, batch), reference)
                finite = all(part.isfinite().all() for part in _outcome(encoder.train(), batch))
    except Exception as error:  # architectures and kernels raise various errors
        line = (str(error).strip().splitlines() or [""])[0]
        return f"{type(encoder).__name__} cannot run unpadded ({type(error).__name__}: {line})"
    finally:
        encoder.train(training)
        for hook in hooks:
            hook.remove()
    # False for NaN too.
    if not all(error <= most for error, most in zip(errors, allowed, strict=True)):
        return f"unpadded outputs of {type(encoder).__name__} differ from padded ones by {max(errors):.1e}"
    return "" if finite else f"unpadded outputs of {type(encoder).__name__} are not finite in training"


def _test_batch(encoder: PreTrainedModel) -> dict[str, torch.Tensor]:
    """Return a batch of random texts of four lengths, among them the full length and one token."""
    config, generator = encoder.config, torch.Generator().manual_seed(0)
    longest = min(_TEST_LENGTH, positions(config) or _TEST_LENGTH)
    lengths = torch.tensor([longest, 1, max(1, longest // 2), max(1, longest // 5)])
    mask = torch.arange(longest) < lengths[:, None]
    padding = config.pad_token_id or 0
    ids = torch.randint(config.vocab_size - 1, mask.shape, generator=generator)
    ids += ids >= padding  # any token but padding
    batch = {"input_ids": ids.masked_fill(~mask, padding), "attention_mask": mask.long()}
    if getattr(config, "type_vocab_size", 0) > 1:
        batch["token_type_ids"] = torch.randint(2, mask.shape, generator=generator) * mask
    return {name: part.to(encoder.device) for name, part in batch.items()}


def _outcome(encoder: PreTrainedModel, batch: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """Return the outputs of real tokens, and the gradient of a weighted sum of them, in single precision.

    The gradient is that of the token embeddings, which depends on all layers.
    """
    with torch.enable_grad():
        output = encoder(**batch)
        real = output.last_hidden_state.float()[batch["attention_mask"].bool()]
        parts = [real, *([] if output.get("pooler_output") is None else [output.pooler_output.float()])]
        weights = torch.linspace(-1, 1, real.numel(), device=real.device).sin().view_as(real)
        embeddings = encoder.get_input_embeddings().weight
        (gradient,) = torch.autograd.grad((real * weights).sum(), embeddings)
    return [part.detach() for part in (*parts, gradient.float())]


def _errors(outputs: list[torch.Tensor], reference: list[torch.Tensor]) -> list[float]:
    return [float((one - other).norm() / other.norm()) for one, other in zip(outputs, reference, strict=True)]
