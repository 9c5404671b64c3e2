"""Reading texts with a trained classifier: what each head gives each answer."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from lextables.dataset import Row
from lextables.models.multi_head import MultiHead
from lextables.tasks.classification.features import Tokens

READ_AT_ONCE = 32  # texts
Asked = Mapping[str, Sequence[Row]]  # {head: the examples to read}


def asked_of(examples: Iterable[Row], heads: Iterable[str], splits: Sequence[str]) -> dict[str, list[Row]]:
    """Return {head: its examples in ``splits``, sorted}."""
    found: dict[str, list[Row]] = {head: [] for head in heads}
    for row in examples:
        if row["split"] in splits and row["head_id"] in found:
            found[row["head_id"]].append({name: row[name] for name in ("example_id", "text_id")})
    return {head: sorted(rows, key=lambda row: row["example_id"]) for head, rows in found.items()}


def padded(texts: Sequence[np.ndarray], padding: int) -> dict[str, torch.Tensor]:
    """Return a batch of token ids padded on the right to its longest text, and its attention mask."""
    lengths = torch.tensor([len(ids) for ids in texts])
    mask = (torch.arange(int(lengths.max())) < lengths[:, None]).long()
    ids = torch.full(mask.shape, padding)
    ids[mask.bool()] = torch.from_numpy(np.concatenate(texts).astype(np.int64))
    return {"input_ids": ids, "attention_mask": mask}


def padding(model: MultiHead) -> int:
    """The id that fills up a batch."""
    return model.body.config.pad_token_id or 0


@torch.no_grad()
def read_heads(
    model: MultiHead, names: Sequence[str], asked: Asked, tokens: Tokens, device: torch.device
) -> list[dict[str, Any]]:
    """Return the rows of `schema.PREDICTIONS`, sorted; ``names`` are the model's heads in their order.

    Each text is encoded once, however many heads ask about it.  Single precision; neither the model's
    mode nor the random numbers of training are disturbed.
    """
    wanted: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for number, name in enumerate(names):
        for row in asked.get(name, ()):
            wanted[row["text_id"]][number].append(row["example_id"])
    order = sorted(wanted, key=lambda text_id: (-len(tokens[text_id]), text_id))
    found = []
    training = model.training
    model.eval()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for batch in _batches(order, READ_AT_ONCE):
            inputs = padded([tokens[text_id] for text_id in batch], padding(model))
            represented = model.represent(**{key: value.to(device) for key, value in inputs.items()})
            for number in sorted({number for text_id in batch for number in wanted[text_id]}):
                logits = model.answer(represented, number).double().cpu()
                shares = logits.sigmoid()
                found += [
                    {
                        "head_id": names[number],
                        "example_id": example_id,
                        "logits": logits[at].tolist(),
                        "probabilities": shares[at].tolist(),
                    }
                    for at, text_id in enumerate(batch)
                    for example_id in wanted[text_id].get(number, ())
                ]
    model.train(training)
    return sorted(found, key=lambda row: (row["head_id"], row["example_id"]))


def _batches(items: Sequence[str], size: int) -> Iterable[Sequence[str]]:
    return (items[start : start + size] for start in range(0, len(items), size))
