"""Texts that are tokenised once, by several threads, and put into batches
afterwards.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers import CrossEncoder, SentenceTransformer
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedTokenizerBase

from lextables.models.cutting import cut, is_cuttable
from lextables.models.in_parts import Batch

# Texts that are tokenised together, in a tensor that is padded to the longest of them.
AT_ONCE = 256
_PARALLEL = "TOKENIZERS_PARALLELISM"


@dataclass(frozen=True)
class Tokenised:
    """The inputs of a model for some texts.

    ``rows`` has for each text {input: values of its tokens (tokens,)}, without padding.
    ``shared`` are inputs that hold for all texts, such as the length of a prompt.
    """

    rows: list[dict[str, torch.Tensor]]
    shared: Batch
    tokenizer: PreTrainedTokenizerBase

    def lengths(self) -> list[int]:
        """Return the number of tokens of each text."""
        return [len(row["attention_mask"]) for row in self.rows]

    def batch(self, positions: Sequence[int]) -> Batch:
        """Return the inputs for the texts at ``positions``, tensors (texts, tokens).

        They are padded to the longest text, on the side that the tokenizer prefers.
        """
        chosen = [self.rows[position] for position in positions]
        inputs = dict(self.shared)
        for name in chosen[0]:
            inputs[name] = pad_sequence(
                [row[name] for row in chosen],
                batch_first=True,
                padding_value=self._padding(name),
                padding_side=self.tokenizer.padding_side,
            )
        return inputs

    def _padding(self, name: str) -> int:
        if name == "input_ids":
            return self.tokenizer.pad_token_id or 0
        if name == "token_type_ids":
            return self.tokenizer.pad_token_type_id
        return 0


def tokenised(
    model: SentenceTransformer | CrossEncoder, texts: Sequence[Any], **options: Any
) -> Tokenised:
    """Tokenise ``texts``, or pairs of texts, truncated to the model's maximum length.

    Long texts are cut first, if that does not change their tokens: most of a long text
    would be tokenised in vain.  ``options`` are those of the model's `preprocess`, such
    as a prompt.
    """
    limit = _limit(model)
    if limit is None:
        return _whole(model, texts, options)
    parts = [cut(text, limit) if isinstance(text, str) else text for text in texts]
    tokenised_texts = _whole(model, parts, options)
    # A part with fewer tokens than the model reads was cut too short: its whole text is
    # tokenised.
    too_short = []
    for number, length in enumerate(tokenised_texts.lengths()):
        if length < limit and parts[number] is not texts[number]:
            too_short.append(number)
    again = _whole(model, [texts[number] for number in too_short], options)
    for number, row in zip(too_short, again.rows, strict=True):
        tokenised_texts.rows[number] = row
    return tokenised_texts


def _limit(model: SentenceTransformer | CrossEncoder) -> int | None:
    """The tokens that a model reads of a text; None if its texts must not be cut
    before.

    How a pair is truncated depends on the lengths of both texts.
    """
    if isinstance(model, SentenceTransformer) and is_cuttable(model.tokenizer):
        return model.max_seq_length
    return None


def _whole(
    model: SentenceTransformer | CrossEncoder,
    texts: Sequence[Any],
    options: Mapping[str, Any],
) -> Tokenised:
    """Tokenise texts with the model's `preprocess`, which truncates them."""
    tokenised_texts = Tokenised([], {}, model.tokenizer)
    for start in range(0, len(texts), AT_ONCE):
        part = list(texts[start : start + AT_ONCE])
        with _threads():
            features = model.preprocess(part, **options)
        mask = features["attention_mask"]
        by_token = {}
        for name, value in features.items():
            if isinstance(value, torch.Tensor) and value.shape == mask.shape:
                by_token[name] = value
            else:
                tokenised_texts.shared[name] = value
        for number, real in enumerate(mask.bool()):
            row = {name: value[number][real] for name, value in by_token.items()}
            tokenised_texts.rows.append(row)
    return tokenised_texts


@contextmanager
def _threads() -> Iterator[None]:
    """Context in which a tokenizer uses as many threads as torch.

    Only here: a data loader's process, forked later, would wait for threads that it
    does not have.
    """
    os.environ.setdefault("RAYON_NUM_THREADS", str(torch.get_num_threads()))
    before = os.environ.get(_PARALLEL, "false")
    os.environ[_PARALLEL] = "true"
    try:
        yield
    finally:
        os.environ[_PARALLEL] = before
