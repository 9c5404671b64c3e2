"""An encoder with a classification head for each question; one question or 144, the same module.

Two kinds of head, both of MAUD's released code:

- ``family``: the sequence-classification head that transformers gives the encoder's family (BERT's
  pooler, RoBERTa's dense layer, DeBERTa's context pooler...), whose last linear layer holds the answers
  of all heads side by side.  With one head it is the released single-task model.
- ``own``: on the first token's vector each head has a dense layer, tanh and an output layer of its own,
  with dropout before both, whatever the family.  That is the released multi-task model; for RoBERTa with
  one head the two kinds are one architecture.

The loss is the released one in both settings, though neither is multilabel: binary cross-entropy of each
answer's logit against right or wrong, mean over the head's answers, then over the batch.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Literal

import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModel, AutoModelForSequenceClassification, set_seed

from lextables.models.loading import check_whole, fresh_encoder

HeadKind = Literal["family", "own"]


class MultiHead(nn.Module):
    """The encoder and its heads; ``sizes`` are the numbers of answers, head by head."""

    def __init__(self, body: nn.Module, own: nn.ModuleList | None, sizes: Sequence[int]) -> None:
        super().__init__()
        self.body, self.own, self.sizes = body, own, tuple(sizes)
        self.spans = tuple(pairwise(accumulate(self.sizes, initial=0)))

    @property
    def mixed_precision(self) -> bool:
        """Whether it trains in mixed precision: BigBird's sparse attention fails there (transformers 5)."""
        return not _sparse(self.body)

    def represent(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Return what the heads read of each text: all logits (``family``), or the first token's vector."""
        _settle_attention(self.body, input_ids.shape[1])
        found = self.body(input_ids=input_ids, attention_mask=attention_mask)
        return found.logits if self.own is None else found.last_hidden_state[:, 0]

    def answer(self, represented: torch.Tensor, head: int) -> torch.Tensor:
        """Return the logits (texts, answers) of head number ``head``, float32."""
        if self.own is None:
            start, stop = self.spans[head]
            return represented[:, start:stop].float()
        return self.own[head](represented).float()

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        head: torch.Tensor,
        label: torch.Tensor,
    ) -> dict[str, torch.Tensor]:
        """Return the loss of a batch; ``head`` and ``label`` (texts,) are a text's head and right answer."""
        represented = self.represent(input_ids, attention_mask)
        losses = []
        for number in head.unique().tolist():
            chosen = head == number
            logits = self.answer(represented[chosen], number)
            target = functional.one_hot(label[chosen], self.sizes[number]).to(logits)
            loss = functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
            losses.append(loss.mean(dim=1).sum())
        return {"loss": torch.stack(losses).sum() / len(head)}


def load(
    folder: str, sizes: Sequence[int], kind: HeadKind, seed: int, gradient_checkpointing: bool = False
) -> MultiHead:
    """Load an encoder and draw its heads with ``seed``; all weights in single precision.

    ``gradient_checkpointing`` trades time for memory: activations are computed again on the way back.
    """
    set_seed(seed)
    if kind == "family":
        body, report = AutoModelForSequenceClassification.from_pretrained(
            folder, num_labels=sum(sizes), output_loading_info=True
        )
        own = None
    else:
        body, report = AutoModel.from_pretrained(folder, output_loading_info=True)
        own = nn.ModuleList(_own_head(body.config, size) for size in sizes)
    check_whole(folder, fresh_encoder(body, report))
    if getattr(body.config, "reference_compile", False) is None:
        body.config.reference_compile = False  # ModernBERT in transformers 4 would compile for each length
    if gradient_checkpointing:
        body.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return MultiHead(body, own, sizes).float()


def _own_head(config, size: int) -> nn.Sequential:
    rate = getattr(config, "classifier_dropout", None)
    rate = getattr(config, "hidden_dropout_prob", 0.0) if rate is None else rate
    width = config.hidden_size
    return nn.Sequential(
        nn.Dropout(rate), nn.Linear(width, width), nn.Tanh(), nn.Dropout(rate), nn.Linear(width, size)
    )


def _settle_attention(body: nn.Module, length: int) -> None:
    """Give BigBird the attention that suits this batch's length.

    Left alone it turns to full attention at the first short batch, for good, so that what a text scores
    would hang on the texts before it; and the change draws random numbers.
    """
    if not _sparse(body):
        return
    encoder = body.base_model
    least = (5 + 2 * encoder.config.num_random_blocks) * encoder.config.block_size
    with torch.random.fork_rng(devices=[]):
        encoder.set_attention_type("block_sparse" if length > least else "original_full")


def _sparse(body: nn.Module) -> bool:
    return getattr(body.config, "attention_type", None) == "block_sparse"
