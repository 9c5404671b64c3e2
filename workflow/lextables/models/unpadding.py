"""Encoders that compute on real tokens alone, however ragged a batch is.

A padded batch goes through an encoder as one sequence of all its real tokens, each at the position that it
has in its own text, and comes out in its padded places again, with zeros for padding.  Attention keeps the
texts apart: on a GPU by torch's flash kernel for sequences of several lengths, elsewhere one text at a time.
Linear layers, norms and dropout then never see padding, whose share of random batches is often a third to a
half.  Nobody else need know: batches are padded as ever, and heads read what they always read.  It is for
training; without gradients all stays as it was.

Two hooks on the encoder do this, and an attention of our own in transformers' `AttentionInterface`.  Whether
a family can take it is found by trying: padded and unpadded must agree on a ragged batch, outputs and
gradients, or the model stays as it was.
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

from lextables.models.loading import positions, quiet

NAME = "lextables_unpadded"
_PROBED = 192  # tokens: more than ModernBERT's window
_HALF = (torch.bfloat16, torch.float16)
_PACKED = "packed"
# What an encoder's output may hold if its padded places are to be found again.
_KNOWN = {"last_hidden_state", "pooler_output"}
_faults: dict[tuple[object, ...], str] = {}


def settle(model: PreTrainedModel, device: torch.device) -> str:
    """Make the encoder of ``model`` run without padding on ``device`` where it can; say in words if it does.

    On a GPU in half precision (autocast or weights): torch's kernel takes no single precision, and such
    batches stay padded.  The model is moved to ``device``, and is left as it was where the answer begins with
    "padded".
    """
    half = device.type == "cuda"
    return unpad(model.to(device), torch.bfloat16 if half else torch.float32)


def unpad(model: PreTrainedModel, precision: torch.dtype = torch.float32) -> str:
    """As `settle`, where ``model`` is; ``precision`` is that of the trial (a half one is autocast to)."""
    encoder = model.base_model
    before = encoder.config._attn_implementation
    if before != NAME:
        with quiet():
            model.set_attn_implementation(NAME)
        if encoder.config._attn_implementation != NAME:
            return f"padded: the attention of {type(encoder).__name__} is its own"
        if fault := _fault(encoder, precision):
            model.set_attn_implementation(before)
            return f"padded: {fault}"
        encoder.register_forward_pre_hook(_pack, with_kwargs=True)
        encoder.register_forward_hook(_put_back, with_kwargs=True)
    return "unpadded: the encoder computes on real tokens alone"


@dataclass(frozen=True)
class _Packed:
    """The texts of a packed batch: their lengths (texts,) and their tokens' places in the padded one."""

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
    """The attention of `AttentionInterface`: of packed texts each to itself, of padded ones torch's own.

    ``query``, ``key`` and ``value`` are (1, heads, tokens, width) where texts are packed; the result is
    (1, tokens, heads, width).
    """
    packed = others.pop(_PACKED, None)
    if packed is None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, dropout, scaling, **others)
    # transformers counts the token itself to a window, torch's kernel does not.
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

    `torch.nn.attention.varlen.varlen_attn` is this with no dropout, which BERT's and RoBERTa's attention has.
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
    """The same in any precision on any device."""
    found, counts = [], packed.lengths.tolist()
    for parts in zip(*(whole.split(counts) for whole in (query, key, value)), strict=True):
        mask = None
        if window is not None:
            places = torch.arange(len(parts[0]), device=query.device)
            mask = (places[:, None] - places).abs() <= window
        of_heads = (part.transpose(0, 1) for part in parts)
        found.append(
            scaled_dot_product_attention(*of_heads, attn_mask=mask, dropout_p=dropout, scale=scaling)
        )
    return torch.cat(found, dim=1).transpose(0, 1)


def _pack(
    encoder: PreTrainedModel, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Turn the arguments of a padded batch into those of its real tokens; leave other calls as they are.

    So are those without gradients: what is read is sorted by length, and comes out to the last digit as it
    does of a model that was only loaded.
    """
    if not torch.is_grad_enabled():
        return None
    given = {name: one for name, one in kwargs.items() if one is not None and one is not False}
    ids, mask = args[0] if args else given.get("input_ids"), given.get("attention_mask")
    plain = given.keys() <= {"input_ids", "attention_mask", "token_type_ids", "return_dict"}
    more = encoder.config.output_hidden_states or encoder.config.output_attentions
    more = more or kwargs.get("return_dict") is False or len(args) > 1
    if not plain or more or ids is None or mask is None or mask.dim() != 2:
        return None
    if ids.is_cuda and _precision(encoder) not in _HALF:
        return None
    (places,) = mask.flatten().nonzero(as_tuple=True)
    if len(places) == mask.numel():
        return None
    whole = {"input_ids": ids, "position_ids": _positions(encoder, ids)}
    if "token_type_ids" in given:
        whole["token_type_ids"] = given["token_type_ids"]
    return (), {
        **{name: one.flatten()[places][None] for name, one in whole.items()},
        # A mask of four dimensions is taken as it is, where none would become one of all tokens by all.
        "attention_mask": mask[None, None, :0],
        _PACKED: _Packed(mask.sum(dim=1), places, mask.shape),
    }


def _put_back(encoder: PreTrainedModel, args: Any, kwargs: Mapping[str, Any], output: Any) -> Any:
    """Put the outputs of packed tokens in their padded places, zeros elsewhere."""
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
    """What the family makes of the first tokens, which packed it made of the first text's alone."""
    if isinstance(encoder.pooler, nn.Linear):  # ALBERT's
        return encoder.pooler_activation(encoder.pooler(states[:, 0]))
    return encoder.pooler(states)


def _positions(encoder: PreTrainedModel, ids: torch.Tensor) -> torch.Tensor:
    """The positions that the family counts in a padded batch, (texts, tokens)."""
    embeddings = getattr(getattr(encoder, "embeddings", None), "position_embeddings", None)
    if (padding := getattr(embeddings, "padding_idx", None)) is None:
        return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
    real = ids.ne(padding).long()
    return real.cumsum(dim=1) * real + padding


def _precision(encoder: PreTrainedModel) -> torch.dtype:
    return torch.get_autocast_dtype("cuda") if torch.is_autocast_enabled("cuda") else encoder.dtype


def _fault(encoder: PreTrainedModel, precision: torch.dtype) -> str:
    """What speaks against an encoder's running unpadded; empty for nothing.

    A process tries an architecture once: of MAUD's questions each has a model of its own.
    """
    key = (type(encoder).__name__, encoder.config.to_json_string(), str(encoder.device), precision)
    if key not in _faults:
        _faults[key] = _tried(encoder, precision)
    return _faults[key]


def _tried(encoder: PreTrainedModel, precision: torch.dtype) -> str:
    """As `_fault`, by running a ragged batch both ways.

    Padded in single precision is the measure: unpadded may stray from it twice as far as padded does in
    ``precision``.  Then a step with dropout must come out finite.
    """
    training, device, hooks = encoder.training, encoder.device, []
    half = torch.autocast(device.type, precision, enabled=precision in _HALF)
    batch = _ragged(encoder)
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            encoder.eval()
            truth = _outcome(encoder, batch)
            with half:
                allowed = [2 * far + 1e-4 for far in _far(_outcome(encoder, batch), truth)]
                hooks.append(encoder.register_forward_pre_hook(_pack, with_kwargs=True))
                hooks.append(encoder.register_forward_hook(_put_back, with_kwargs=True))
                far = _far(_outcome(encoder, batch), truth)
                finite = all(part.isfinite().all() for part in _outcome(encoder.train(), batch))
    except Exception as error:  # whatever a family or a kernel meets in a batch that it was not made for
        return f"{type(encoder).__name__} cannot run unpadded ({type(error).__name__}: {_line(error)})"
    finally:
        encoder.train(training)
        for hook in hooks:
            hook.remove()
    # A number that is none is not below any.
    if not all(one <= most for one, most in zip(far, allowed, strict=True)):
        return f"unpadded, {type(encoder).__name__} strays from padded by {max(far):.1e} of its outputs"
    return "" if finite else f"unpadded, {type(encoder).__name__} trains on numbers that are not finite"


def _ragged(encoder: PreTrainedModel) -> dict[str, torch.Tensor]:
    """A batch of random tokens: a full text, one of a token, and two between."""
    config, generator = encoder.config, torch.Generator().manual_seed(0)
    longest = min(_PROBED, positions(config) or _PROBED)
    lengths = torch.tensor([longest, 1, max(1, longest // 2), max(1, longest // 5)])
    mask = torch.arange(longest) < lengths[:, None]
    padding = config.pad_token_id or 0
    ids = torch.randint(config.vocab_size - 1, mask.shape, generator=generator)
    ids += ids >= padding  # any but the padding's
    batch = {"input_ids": ids.masked_fill(~mask, padding), "attention_mask": mask.long()}
    if getattr(config, "type_vocab_size", 0) > 1:
        batch["token_type_ids"] = torch.randint(2, mask.shape, generator=generator) * mask
    return {name: part.to(encoder.device) for name, part in batch.items()}


def _outcome(encoder: PreTrainedModel, batch: Mapping[str, torch.Tensor]) -> list[torch.Tensor]:
    """What a batch comes to, in single precision: the outputs of real tokens, and gradients of a sum.

    The gradients are those of the words' vectors, which all layers lie before.
    """
    with torch.enable_grad():
        found = encoder(**batch)
        real = found.last_hidden_state.float()[batch["attention_mask"].bool()]
        parts = [real, *([] if found.get("pooler_output") is None else [found.pooler_output.float()])]
        weights = torch.linspace(-1, 1, real.numel(), device=real.device).sin().view_as(real)
        words = encoder.get_input_embeddings().weight
        (gradient,) = torch.autograd.grad((real * weights).sum(), words)
    return [part.detach() for part in (*parts, gradient.float())]


def _far(found: list[torch.Tensor], truth: list[torch.Tensor]) -> list[float]:
    return [float((one - right).norm() / right.norm()) for one, right in zip(found, truth, strict=True)]


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]
