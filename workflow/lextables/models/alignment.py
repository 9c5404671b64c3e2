"""Classifiers of pairs of texts over the frozen token vectors of an encoder.

Each token is compared with the tokens of the other text that are most similar to it (decomposable attention,
Parikh et al. 2016).  Only the comparison is trained, which takes seconds on a CPU for a few thousand pairs.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoModel

from lextables.models import loading
from lextables.pipeline.errors import loading_weights

Pair = tuple[torch.Tensor, torch.Tensor]  # unit vectors of the tokens of two texts, float16 (tokens, width)
BATCH = 32
WIDTH = 64
DROPOUT = 0.3
RATE = 1e-3
SHARPNESS = 12.0  # of the attention at first; it is trained
NEIGHBOURS = 7  # tokens whose similarity to the first text decides how much a token of the second counts


@loading_weights()
def token_vectors(folder: str, texts: Iterable[str], max_length: int = 256) -> Mapping[str, torch.Tensor]:
    """Return {text: the vectors of its tokens without the special ones, float16 (tokens, width)}.

    A vector joins those of the encoder's middle and last layer, which have the same norm, and has length one.
    """
    body = loading.transformer(folder) or folder
    tokenizer = loading.load_tokenizer(body)
    model = AutoModel.from_pretrained(body, trust_remote_code=False).eval()
    unique = sorted(set(texts), key=lambda text: (len(text), text))
    found: dict[str, torch.Tensor] = {}
    with torch.inference_mode():
        for start in range(0, len(unique), BATCH):
            batch = unique[start : start + BATCH]
            tokens = tokenizer(
                batch, padding=True, truncation=True, max_length=max_length, return_tensors="pt"
            )
            layers = model(**tokens, output_hidden_states=True).hidden_states
            joined = [functional.normalize(layers[place], dim=2) for place in (len(layers) // 2, -1)]
            vectors = functional.normalize(torch.cat(joined, dim=2), dim=2).half()
            for text, of_text, length in zip(
                batch, vectors, tokens["attention_mask"].sum(dim=1).tolist(), strict=True
            ):
                found[text] = of_text[1 : length - 1].clone()
    return found


class _Aligned(nn.Module):
    def __init__(self, width: int, labels: int) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Linear(width, WIDTH, bias=False), nn.LayerNorm(WIDTH))
        self.sharpness = nn.Parameter(torch.tensor(SHARPNESS))
        self.compare = nn.Sequential(nn.Dropout(DROPOUT), nn.Linear(4 * WIDTH + 2, WIDTH), nn.ReLU())
        self.head = nn.Sequential(nn.Dropout(DROPOUT), nn.Linear(4 * WIDTH, labels))

    def forward(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return the logits (pairs, labels) of padded pairs; the vectors of padding are zero."""
        similar = first @ second.transpose(1, 2)
        here, there = first.any(dim=2), second.any(dim=2)
        similar = similar.masked_fill(~(here[:, :, None] & there[:, None]), -1)
        mine, yours = self.project(first), self.project(second)
        attention = similar * self.sharpness
        to_second = attention.softmax(dim=2) @ yours
        to_first = attention.softmax(dim=1).transpose(1, 2) @ mine
        closest, closest_second = similar.amax(dim=2), similar.amax(dim=1)
        # Only the part of the second text that is about the first counts.
        near = functional.avg_pool1d(closest_second[:, None], NEIGHBOURS, 1, NEIGHBOURS // 2)[:, 0]
        sides = (
            self._pooled(mine, to_second, closest, here.float()),
            self._pooled(yours, to_first, closest_second, there * torch.sigmoid(10 * near - 5)),
        )
        return self.head(torch.cat(sides, dim=1))

    def _pooled(
        self, own: torch.Tensor, other: torch.Tensor, closest: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        """Return the weighted mean and the maximum of the comparisons of all tokens, (pairs, 2 * WIDTH)."""
        numbers = torch.stack([closest, (1 - closest) ** 2], dim=2)
        compared = self.compare(torch.cat([own, other, (own - other).abs(), own * other, numbers], dim=2))
        weighted = compared * weights[:, :, None]
        total = weights.sum(dim=1, keepdim=True) + 1e-6
        return torch.cat([weighted.sum(dim=1) / total, weighted.amax(dim=1)], dim=1)


def probabilities(
    training: Sequence[Pair], labels: np.ndarray, test: Sequence[Pair], *, updates: int, seed: int
) -> np.ndarray:
    """Train on pairs with their ``labels`` (from 0) and return those of ``test``, float64 (pairs, labels)."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = _Aligned(training[0][0].shape[1], int(labels.max()) + 1)
        right, order = torch.as_tensor(labels), np.random.default_rng(seed)
        optimizer = torch.optim.AdamW(model.parameters(), lr=RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=updates)
        passes = -(-updates * BATCH // len(training))
        drawn = np.concatenate([order.permutation(len(training)) for _ in range(passes)])
        for places in _parts(drawn[: updates * BATCH]):
            loss = functional.cross_entropy(model(*_padded(training, places)), right[places])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.inference_mode():
        logits = [model(*_padded(test, places)) for places in _parts(np.arange(len(test)))]
    return torch.cat(logits).double().softmax(dim=1).numpy()


def _parts(places: np.ndarray) -> Sequence[np.ndarray]:
    return np.split(places, range(BATCH, len(places), BATCH))


def _padded(pairs: Sequence[Pair], places: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    sides = zip(*(pairs[place] for place in places), strict=True)
    first, second = (nn.utils.rnn.pad_sequence(list(side), batch_first=True).float() for side in sides)
    return first, second
