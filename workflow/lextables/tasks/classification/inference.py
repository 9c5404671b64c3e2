"""Predictions of trained classifiers."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from lextables.models import multi_head
from lextables.models.device import tf32
from lextables.models.in_parts import in_parts_that_fit
from lextables.models.multi_head import MultiHead
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import finite
from lextables.tasks.classification.examples import (
    Key,
    RowsByHead,
    by_head,
    key_of,
    named,
    of_splits,
    under_view,
    with_condition,
)
from lextables.tasks.classification.features import Tokens, read_tokens
from lextables.tasks.classification.settings import Reading

READ_AT_ONCE = 32  # texts
# {training loss: function from logits to probabilities}.  The answers are independent
# with the first loss, and exclusive with the second.
PROBABILITIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "binary_cross_entropy": torch.sigmoid,
    "cross_entropy": partial(torch.softmax, dim=1),
}


def read_views(
    readings: Sequence[Reading],
    weights: Sequence[str | Path],
    examples: str | Path,
    test: Sequence[str],
    tokens: Sequence[str | Path],
    device: torch.device,
) -> Iterator[Row]:
    """Yield the predictions for the examples of the splits ``test`` under each reading.

    They are rows of `schema.PREDICTIONS` if the readings have no condition, and
    otherwise of `schema.READINGS`.  ``weights`` are the folders of the trainings; the
    ``source`` of a reading is an index into them.  ``tokens`` are the token files of
    the readings' lengths, the shortest first.
    """
    lengths = list({reading.max_length for reading in readings})
    lengths.sort(key=lambda length: length or 0)
    rows = list(of_splits(read(examples), test))
    loaded_source = None
    for reading in sorted(readings, key=lambda reading: reading.condition):
        if loaded_source != reading.source:
            model, heads = multi_head.load_trained(weights[reading.source], device)
            loaded_source = reading.source
        to_predict = by_head(under_view(rows, reading.view), heads)
        rows_to_predict = itertools.chain.from_iterable(to_predict.values())
        keys = {key_of(row) for row in rows_to_predict}
        path = tokens[lengths.index(reading.max_length)]
        text_tokens = read_tokens(path, keys)
        missing = keys - text_tokens.position.keys()
        if missing:
            what = f"text {named(min(missing))} has no tokens"
            raise BadInput(what, where=reading.condition or "examples")
        predicted = read_heads(model, list(heads), to_predict, text_tokens, device)
        yield from with_condition(predicted, reading.condition)


def inputs(
    tokens: Tokens, keys: Sequence[Key], padding: int
) -> dict[str, torch.Tensor]:
    """Return a batch for a model: padded ids, their mask and, for pairs, the
    segments.
    """
    batch = padded([tokens[key] for key in keys], padding)
    is_token = batch["attention_mask"].bool()
    # The number of tokens before the second text.
    first_lengths = torch.tensor([tokens.first(key) for key in keys])
    columns = torch.arange(is_token.shape[1])
    is_second = is_token & (columns >= first_lengths[:, None])
    if is_second.any():
        batch["token_type_ids"] = is_second.long()
    return batch


def padded(texts: Sequence[np.ndarray], padding: int) -> dict[str, torch.Tensor]:
    """Return token ids padded on the right to the longest text, and the attention mask.

    Both are int64 (texts, tokens).
    """
    lengths = torch.tensor([len(ids) for ids in texts])
    columns = torch.arange(int(lengths.max()))
    is_token = columns < lengths[:, None]
    tokens = np.concatenate(texts).astype(np.int64)
    ids = torch.full(is_token.shape, padding)
    ids[is_token] = torch.from_numpy(tokens)
    return {"input_ids": ids, "attention_mask": is_token.long()}


def padding(model: MultiHead) -> int:
    """Return the padding token's id."""
    return model.body.config.pad_token_id or 0


@torch.no_grad()
def read_heads(
    model: MultiHead,
    heads: Sequence[str],
    to_predict: RowsByHead,
    tokens: Tokens,
    device: torch.device,
) -> list[Row]:
    """Return the rows of `schema.PREDICTIONS`, sorted by head and example.

    ``heads`` are the model's heads in their order.  Each text is encoded once for all
    heads, in single precision.  The model's mode and the state of random number
    generators are restored.
    """
    # {text: {number of a head: ids of its examples with this text}}
    examples_of: dict[Key, dict[int, list[str]]] = defaultdict(dict)
    for number, head in enumerate(heads):
        for row in to_predict.get(head, ()):
            text_examples = examples_of[key_of(row)]
            text_examples.setdefault(number, []).append(row["example_id"])
    # The longest texts come first, so that texts of a batch have similar lengths.
    order = sorted(examples_of, key=lambda key: (-len(tokens[key]), key))

    def read_part(part: Sequence[Key]) -> list[Row]:
        """Return the rows of the examples with these texts."""
        batch = inputs(tokens, part, padding(model))
        on_device = {name: value.to(device) for name, value in batch.items()}
        represented = model.represent(**on_device)
        numbers: set[int] = set()
        for key in part:
            numbers.update(examples_of[key])
        rows: list[Row] = []
        for number in sorted(numbers):
            logits = model.answer(represented, number).double().cpu()
            finite(logits.numpy(), "the logits of the model", where="prediction")
            probabilities = PROBABILITIES[model.loss](logits)
            text_predictions = zip(
                part, logits.tolist(), probabilities.tolist(), strict=True
            )
            for key, text_logits, text_probabilities in text_predictions:
                for example_id in examples_of[key].get(number, ()):
                    row = {
                        "head_id": heads[number],
                        "example_id": example_id,
                        "logits": text_logits,
                        "probabilities": text_probabilities,
                    }
                    rows.append(row)
        return rows

    training = model.training
    model.eval()
    gpus = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus), tf32(device):
        parts = list(in_parts_that_fit(order, READ_AT_ONCE, read_part))
    model.train(training)
    rows = itertools.chain.from_iterable(parts)
    return sorted(rows, key=lambda row: (row["head_id"], row["example_id"]))
