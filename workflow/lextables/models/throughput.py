"""Throughput of training and inference, for `run.json`.  No result depends on it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from lextables.models.precision import precision_name
from lextables.pipeline.job import PROGRESS
from lextables.pipeline.run import noted

TRAINING, READING = "training", "reading"


def encoder(model: torch.nn.Module) -> PreTrainedModel | None:
    """Return the transformer in ``model`` without its heads; None for a model of word vectors."""
    parts = (part for part in model.modules() if isinstance(part, PreTrainedModel))
    return getattr(next(parts, None), "base_model", None)


@dataclass
class _Meter:
    """Counts of a running model.  Sums stay on its device, which avoids synchronisation."""

    device: torch.device
    kind: str
    tokens: Any = 0
    places: int = 0
    seconds: float = 0.0
    since: float | None = None

    def count(self, lengths: torch.Tensor, places: int) -> None:
        if self.since is None:
            self.start()
        self.tokens = self.tokens + lengths.sum()
        self.places += places
        batches = f"batches of {self.kind}"
        PROGRESS[batches] = PROGRESS.get(batches, 0) + 1

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
    parameter = next(model.parameters())
    meter = _Meter(parameter.device, kind)
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
    sums = {"tokens": int(meter.tokens), "places": meter.places, "seconds": meter.seconds}
    sums = {name: value + before.get(kind, {}).get(name, 0) for name, value in sums.items()}
    record = sums | {
        "precision": precision_name(dtype, meter.device),
        "seconds": round(sums["seconds"], 3),
        "tokens_per_second": round(sums["tokens"] / sums["seconds"]) if sums["seconds"] else None,
        "padding_share": round(1 - sums["tokens"] / sums["places"], 4),
    }
    if meter.device.type == "cuda":
        record["peak_gpu_memory_mib"] = torch.cuda.max_memory_allocated(meter.device) // 2**20
    return {**before, kind: record}
