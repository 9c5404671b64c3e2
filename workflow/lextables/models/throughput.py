"""How near a training, or a reading, comes to what its device can do.  No result depends on it.

Counted is what a model must compute for the tokens of its texts, and not for their padding (model FLOPs, as
in PaLM, arXiv 2204.02311, Appendix B): for each token 2 operations a parameter that is no embedding, and
4 L h s of attention in L layers of width h over s tokens; three times as much where gradients are computed.
What gradient checkpointing computes twice counts once.  Their share of what the device does with one great
product in the same precision is the model FLOPs' use.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.nn import functional
from transformers import PretrainedConfig, PreTrainedModel

from lextables.models.onednn import linear_by_onednn
from lextables.models.precision import in_words
from lextables.pipeline.run import noted

TRAINING, READING = "training", "reading"
PASSES = {TRAINING: 3, READING: 1}  # the way back costs twice the way there
SIDE = {"cuda": 4096, "cpu": 512}  # of the square matrices by which a device is measured
PRODUCTS = {"cuda": 20, "cpu": 1}  # between two looks at the clock
ROUNDS = 5


@dataclass(frozen=True)
class Cost:
    """What a token costs: ``parameters`` that it goes through, and attention of ``width`` in the layers.

    ``layers`` counts them by the most tokens that a token attends to there (infinity: to all of its text).
    """

    parameters: int
    width: int
    layers: Mapping[float, int]

    def flops(self, lengths: torch.Tensor) -> torch.Tensor:
        """Return the operations of one way through the model for texts of these lengths, a float64 scalar."""
        tokens = lengths.double()
        seen = sum(count * tokens.clamp(max=reach) for reach, count in self.layers.items())
        return (tokens * (2 * self.parameters + 4 * self.width * seen)).sum()


def encoder(model: torch.nn.Module) -> PreTrainedModel | None:
    """Return the transformer in ``model`` without its heads; None for a model of word vectors."""
    found = (part for part in model.modules() if isinstance(part, PreTrainedModel))
    return getattr(next(found, None), "base_model", None)


def cost(body: PreTrainedModel) -> Cost:
    """Return what a token costs in an encoder, by the names and the configuration that transformers gives it.

    A pooler reads a text once, and heads stand outside.
    """
    left_out = {
        id(parameter)
        for name, part in body.named_modules()
        if isinstance(part, torch.nn.Embedding) or {"embeddings", "pooler"} & {*name.split(".")}
        for parameter in part.parameters()
    }
    count = sum(parameter.numel() for parameter in body.parameters() if id(parameter) not in left_out)
    # ALBERT's layers share their parameters, and a token goes through these in each.
    shared = body.config.num_hidden_layers // getattr(body.config, "num_hidden_groups", math.inf) or 1
    return Cost(int(count * shared), body.config.hidden_size, Counter(_reaches(body.config)))


def _reaches(config: PretrainedConfig) -> list[float]:
    """The most tokens that a token attends to, layer by layer."""
    layers = config.num_hidden_layers
    if getattr(config, "attention_type", None) == "block_sparse":  # BigBird: random blocks, 3 near, 2 global
        return [(config.num_random_blocks + 5) * config.block_size] * layers
    if window := getattr(config, "attention_window", None):  # Longformer
        return window if isinstance(window, list) else [window] * layers
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * layers
    return [config.local_attention if kind == "sliding_attention" else math.inf for kind in kinds]


@dataclass
class _Meter:
    """What is counted while a model works.  Sums stay on its device, so that nothing waits for them."""

    device: torch.device
    cost: Cost | None
    passes: int
    tokens: Any = 0
    places: int = 0
    flops: Any = 0
    seconds: float = 0.0
    since: float | None = None

    def count(self, lengths: torch.Tensor, places: int) -> None:
        if self.since is None:
            self.start()
        self.tokens = self.tokens + lengths.sum()
        self.places += places
        if self.cost:
            self.flops = self.flops + self.passes * self.cost.flops(lengths)

    def start(self) -> None:
        self.since = time.monotonic()

    def stop(self) -> None:
        if self.since is not None:
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            self.seconds += time.monotonic() - self.since
            self.since = None


_meters: ContextVar[tuple[_Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def measured(kind: str, model: torch.nn.Module, dtype: torch.dtype | None = None) -> Iterator[None]:
    """Measure a `TRAINING` or `READING` with ``model`` and write into the run's record what it took.

    Its products are of ``dtype`` (that of its parameters).  The time of a training begins with the first
    batch that `count` is told of, that of a reading at once.  What several of a kind took in one job is
    summed.  A measurement within another, as a reading in the midst of a training, is no part of that one.
    """
    one, body = next(model.parameters()), encoder(model)
    meter = _Meter(one.device, None if body is None else cost(body), PASSES[kind])
    with aside():
        token = _meters.set((*_meters.get(), meter))
        if kind == READING:
            meter.start()
        try:
            yield
        finally:
            meter.stop()
            _meters.reset(token)
        if meter.places:
            noted("throughput", lambda before: _added(before or {}, kind, meter, dtype or one.dtype))


def count(batch: Mapping[str, Any]) -> None:
    """Count the texts of a batch by their attention masks (texts, places), of which it may have several."""
    for name, mask in batch.items():
        if name.endswith("attention_mask"):
            count_lengths(mask.sum(1), mask.numel())


def count_lengths(lengths: torch.Tensor, places: int) -> None:
    """Count texts of ``lengths`` tokens (texts,), which take so many ``places`` with their padding."""
    if meters := _meters.get():
        meters[-1].count(lengths, places)


@contextmanager
def aside() -> Iterator[None]:
    """Leave out what is done in this context, such as the writing of a checkpoint."""
    meter = next(iter(_meters.get()[-1:]), None)
    running = meter is not None and meter.since is not None
    if running:
        meter.stop()
    yield
    if running:
        meter.start()


def _added(before: Mapping[str, Any], kind: str, meter: _Meter, dtype: torch.dtype) -> dict[str, Any]:
    """The record of a job's throughput with what a meter counted added to that of its kind."""
    found = {"tokens": int(meter.tokens), "places": meter.places}
    found |= {"seconds": meter.seconds, "model_flops": float(meter.flops)}
    found = {name: value + before.get(kind, {}).get(name, 0) for name, value in found.items()}
    per_second = 1 / found["seconds"] if found["seconds"] else math.nan
    said = found | {
        "precision": in_words(dtype, meter.device),
        "seconds": round(found["seconds"], 3),
        "tokens_per_second": round(found["tokens"] * per_second),
        "padding_share": round(1 - found["tokens"] / found["places"], 4),
    }
    if meter.cost:
        said["matrix_flops_per_second"] = matrix_rate(meter.device, dtype, said["precision"])
        use = found["model_flops"] * per_second / said["matrix_flops_per_second"]
        said["model_flops_share"] = round(use, 4)
    if meter.device.type == "cuda":
        said["peak_gpu_memory_mib"] = torch.cuda.max_memory_allocated(meter.device) // 2**20
    return {**before, kind: said}


@cache
def matrix_rate(device: torch.device, dtype: torch.dtype, precision: str) -> float:
    """Return how many operations a second ``device`` does in products of two great matrices of ``dtype``.

    They are made in the ``precision`` that is in force (`precision.in_words`), and the best of a few rounds
    counts.  It draws from no common generator.
    """
    side, products = SIDE[device.type], PRODUCTS[device.type]
    drawn = torch.Generator(device).manual_seed(0)
    one, other = (torch.randn(side, side, generator=drawn, device=device).to(dtype) for _ in range(2))
    best = math.inf
    with torch.inference_mode(), linear_by_onednn(device):
        for _ in range(ROUNDS):
            start = _now(device)
            for _ in range(products):
                functional.linear(one, other)
            best = min(best, _now(device) - start)
    return float(f"{2 * side**3 * products / best:.4g}")


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
