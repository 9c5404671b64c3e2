"""Throughput and device utilisation of training and inference, for `run.json`.  No result depends on it.

Model FLOPs are counted as in PaLM (arXiv 2204.02311, Appendix B), for tokens without padding: 2 operations
per token and non-embedding parameter, and 4 L h s per token for attention in L layers of width h over s
tokens; three times as many with gradients.  Recomputation by gradient checkpointing is not counted.
Utilisation is their share of the operations that the device performs in large matrix products of the same
precision.
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

from lextables.models.precision import linear_by_onednn, precision_name
from lextables.pipeline.job import PROGRESS
from lextables.pipeline.run import noted

TRAINING, READING = "training", "reading"
PASSES = {TRAINING: 3, READING: 1}  # the backward pass costs two forward passes
SIDE = {"cuda": 4096, "cpu": 512}  # of the square matrices that are multiplied to measure a device
PRODUCTS = {"cuda": 20, "cpu": 1}  # between two readings of the clock
ROUNDS = 5


@dataclass(frozen=True)
class Cost:
    """Cost of a token: ``parameters`` applied to it, and attention of ``width`` in the layers.

    ``layers`` maps the maximum number of attended tokens (infinity: all of the text) to a number of layers.
    """

    parameters: int
    width: int
    layers: Mapping[float, int]

    def flops(self, lengths: torch.Tensor) -> torch.Tensor:
        """Return the operations of a forward pass for texts of these lengths, a float64 scalar."""
        tokens = lengths.double()
        attended = sum(count * tokens.clamp(max=reach) for reach, count in self.layers.items())
        return (tokens * (2 * self.parameters + 4 * self.width * attended)).sum()


def encoder(model: torch.nn.Module) -> PreTrainedModel | None:
    """Return the transformer in ``model`` without its heads; None for a model of word vectors."""
    parts = (part for part in model.modules() if isinstance(part, PreTrainedModel))
    return getattr(next(parts, None), "base_model", None)


def cost(body: PreTrainedModel) -> Cost:
    """Return the cost of a token in an encoder, without its pooler (applied once per text)."""
    left_out = {
        id(parameter)
        for name, part in body.named_modules()
        if isinstance(part, torch.nn.Embedding) or {"embeddings", "pooler"} & {*name.split(".")}
        for parameter in part.parameters()
    }
    count = sum(parameter.numel() for parameter in body.parameters() if id(parameter) not in left_out)
    # ALBERT's layers share their parameters.
    shared = body.config.num_hidden_layers // getattr(body.config, "num_hidden_groups", math.inf) or 1
    return Cost(int(count * shared), body.config.hidden_size, Counter(_reaches(body.config)))


def _reaches(config: PretrainedConfig) -> list[float]:
    """Return the maximum number of tokens that a token attends to in each layer."""
    layers = config.num_hidden_layers
    if getattr(config, "attention_type", None) == "block_sparse":  # BigBird: random blocks, 3 near, 2 global
        return [(config.num_random_blocks + 5) * config.block_size] * layers
    if window := getattr(config, "attention_window", None):  # Longformer
        return window if isinstance(window, list) else [window] * layers
    kinds = getattr(config, "layer_types", None) or ["full_attention"] * layers
    return [config.local_attention if kind == "sliding_attention" else math.inf for kind in kinds]


@dataclass
class _Meter:
    """Counts of a running model.  Sums stay on its device, which avoids synchronisation."""

    device: torch.device
    cost: Cost | None
    kind: str
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
        batches = f"batches of {self.kind}"
        PROGRESS[batches] = PROGRESS.get(batches, 0) + 1
        if self.cost:
            self.flops = self.flops + PASSES[self.kind] * self.cost.flops(lengths)

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
    """Measure a `TRAINING` or `READING` with ``model`` and record the result in `run.json`.

    ``dtype`` is the precision of its products (default: that of its parameters).  The time of a training
    starts with the first `count`, that of a reading at once.  Several measurements of a kind in one job are
    added up.  A measurement within another one, such as a reading during training, is not part of the outer
    one.
    """
    parameter, body = next(model.parameters()), encoder(model)
    meter = _Meter(parameter.device, None if body is None else cost(body), kind)
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
            noted("throughput", lambda before: _added(before or {}, kind, meter, dtype or parameter.dtype))


def count(batch: Mapping[str, Any]) -> None:
    """Count the texts of a batch by its attention masks (texts, positions), of which it may have several."""
    for name, mask in batch.items():
        if name.endswith("attention_mask"):
            count_lengths(mask.sum(1), mask.numel())


def count_lengths(lengths: torch.Tensor, places: int) -> None:
    """Count texts of ``lengths`` tokens (texts,), with padding ``places`` tokens in total."""
    if meters := _meters.get():
        meters[-1].count(lengths, places)


@contextmanager
def aside() -> Iterator[None]:
    """Context that is excluded from the measured time, such as writing a checkpoint."""
    meter = next(iter(_meters.get()[-1:]), None)
    running = meter is not None and meter.since is not None
    if running:
        meter.stop()
    yield
    if running:
        meter.start()


def _added(before: Mapping[str, Any], kind: str, meter: _Meter, dtype: torch.dtype) -> dict[str, Any]:
    """Return a job's throughput record with the counts of a meter added to those of its kind."""
    sums = {"tokens": int(meter.tokens), "places": meter.places}
    sums |= {"seconds": meter.seconds, "model_flops": float(meter.flops)}
    sums = {name: value + before.get(kind, {}).get(name, 0) for name, value in sums.items()}
    per_second = 1 / sums["seconds"] if sums["seconds"] else math.nan
    record = sums | {
        "precision": precision_name(dtype, meter.device),
        "seconds": round(sums["seconds"], 3),
        "tokens_per_second": round(sums["tokens"] * per_second),
        "padding_share": round(1 - sums["tokens"] / sums["places"], 4),
    }
    if meter.cost:
        record["matrix_flops_per_second"] = matrix_rate(meter.device, dtype, record["precision"])
        utilisation = sums["model_flops"] * per_second / record["matrix_flops_per_second"]
        record["model_flops_share"] = round(utilisation, 4)
    if meter.device.type == "cuda":
        record["peak_gpu_memory_mib"] = torch.cuda.max_memory_allocated(meter.device) // 2**20
    return {**before, kind: record}


@cache
def matrix_rate(device: torch.device, dtype: torch.dtype, precision: str) -> float:
    """Return the operations per second of ``device`` in products of two large matrices of ``dtype``.

    The best of a few rounds, in the current ``precision`` (`precision.precision_name`).  Does not use the
    global random generator.
    """
    side, products = SIDE[device.type], PRODUCTS[device.type]
    generator = torch.Generator(device).manual_seed(0)
    one, other = (torch.randn(side, side, generator=generator, device=device).to(dtype) for _ in range(2))
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
