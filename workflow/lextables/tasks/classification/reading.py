"""Predictions of trained classifiers."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lextables.models import multi_head
from lextables.models.in_parts import in_parts_that_fit
from lextables.models.multi_head import MultiHead
from lextables.models.precision import tf32
from lextables.pipeline.dataset import Row, read
from lextables.pipeline.errors import BadInput
from lextables.tasks.classification.examples import (
    Key,
    by_head,
    key_of,
    of_splits,
    under_view,
)
from lextables.tasks.classification.features import Tokens, read_tokens

READ_AT_ONCE = 32  # texts
# Probabilities from logits by the training loss: independent answers, or exclusive ones.
SHARES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "binary_cross_entropy": torch.sigmoid,
    "cross_entropy": partial(torch.softmax, dim=1),
}
Asked = Mapping[
    str, Sequence[Row]
]  # {head: the examples to read}, as `examples.by_head` has them


def read_examples(
    weights: str | Path,
    examples: str | Path,
    test: Sequence[str],
    tokens: str | Path,
    device: torch.device,
) -> list[Row]:
    """Return rows of `PREDICTIONS` of the model in ``weights`` for the examples of the splits ``test``."""
    model, heads = multi_head.load_trained(weights, device)
    to_predict = by_head(of_splits(read(examples), test), heads)
    return read_heads(model, list(heads), to_predict, read_tokens(tokens), device)


def read_views(
    settings: Mapping[str, Any],
    weights: Sequence[str | Path],
    examples: str | Path,
    test: Sequence[str],
    tokens: Sequence[str | Path],
    device: torch.device,
) -> Iterator[Row]:
    """Yield the rows of `READINGS` of the test examples under each of the settings' ``readings``.

    ``weights`` are the folders of the trainings; the ``source`` of a reading is an index into them.
    ``tokens`` are the token files of the readings' lengths, the shortest first.
    """
    readings = sorted(settings["readings"], key=itemgetter("condition"))
    lengths = sorted({reading["max_length"] for reading in readings})
    rows = list(of_splits(read(examples), test))
    loaded: tuple[int, Any] = (-1, None)
    for reading in readings:
        if loaded[0] != reading["source"]:
            loaded = (
                reading["source"],
                multi_head.load_trained(weights[reading["source"]], device),
            )
        model, heads = loaded[1]
        to_predict = by_head(under_view(rows, reading["view"]), heads)
        keys = {key_of(row) for rows_ in to_predict.values() for row in rows_}
        batch_tokens = read_tokens(tokens[lengths.index(reading["max_length"])], keys)
        if missing := sorted(keys - batch_tokens.position.keys()):
            named = " with ".join(repr(text_id) for text_id in missing[0] if text_id)
            raise BadInput(f"text {named} has no tokens", where=reading["condition"])
        for row in read_heads(model, list(heads), to_predict, batch_tokens, device):
            yield {"condition": reading["condition"], **row}


def inputs(
    tokens: Tokens, keys: Sequence[Key], padding: int
) -> dict[str, torch.Tensor]:
    """Return a batch for a model: padded ids, their mask and, for pairs, the segments."""
    batch = padded([tokens[key] for key in keys], padding)
    firsts = torch.tensor([tokens.first(key) for key in keys])
    second = (torch.arange(batch["input_ids"].shape[1]) >= firsts[:, None]) & batch[
        "attention_mask"
    ].bool()
    return batch | ({"token_type_ids": second.long()} if second.any() else {})


def padded(texts: Sequence[np.ndarray], padding: int) -> dict[str, torch.Tensor]:
    """Return a batch of token ids padded on the right to its longest text, and its attention mask."""
    lengths = torch.tensor([len(ids) for ids in texts])
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).long()
    ids = torch.full(mask.shape, padding)
    ids[mask.bool()] = torch.from_numpy(np.concatenate(texts).astype(np.int64))
    return {"input_ids": ids, "attention_mask": mask}


def padding(model: MultiHead) -> int:
    """Return the padding token's id."""
    return model.body.config.pad_token_id or 0


@torch.no_grad()
def read_heads(
    model: MultiHead,
    names: Sequence[str],
    to_predict: Asked,
    tokens: Tokens,
    device: torch.device,
) -> list[dict[str, Any]]:
    """Return the rows of `schema.PREDICTIONS`, sorted; ``names`` are the model's heads in their order.

    Each text is encoded once for all heads, in single precision.  The model's mode and the state of random
    number generators are restored.
    """
    examples_of: dict[Key, dict[int, list[str]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for number, name in enumerate(names):
        for row in to_predict.get(name, ()):
            examples_of[key_of(row)][number].append(row["example_id"])
    order = sorted(examples_of, key=lambda key: (-len(tokens[key]), key))

    def read_part(part: Sequence[Key]) -> list[dict[str, Any]]:
        batch = inputs(tokens, part, padding(model))
        represented = model.represent(
            **{name: value.to(device) for name, value in batch.items()}
        )
        rows = []
        for number in sorted({number for key in part for number in examples_of[key]}):
            logits = model.answer(represented, number).double().cpu()
            shares = SHARES[model.loss](logits)
            rows += [
                {
                    "head_id": names[number],
                    "example_id": example_id,
                    "logits": logits[at].tolist(),
                    "probabilities": shares[at].tolist(),
                }
                for at, key in enumerate(part)
                for example_id in examples_of[key].get(number, ())
            ]
        return rows

    training = model.training
    model.eval()
    with (
        torch.random.fork_rng(devices=[device] if device.type == "cuda" else []),
        tf32(device),
    ):
        parts = [*in_parts_that_fit(order, READ_AT_ONCE, read_part)]
    model.train(training)
    return sorted(
        itertools.chain.from_iterable(parts),
        key=lambda row: (row["head_id"], row["example_id"]),
    )
