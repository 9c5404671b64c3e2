"""Throughput of training and inference, for `run.json`.  No result depends on it."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from lextables.models.precision import precision_name
from lextables.pipeline.job import PROGRESS
from lextables.pipeline.run import noted

TRAINING, READING = "training", "reading"


@dataclass
class _Meter:
    """Counts of a running model.

    Sums stay on its device, which avoids synchronisation.  ``elsewhere`` are the
    seconds of measurements within this one.
    """

    kind: str
    tokens: Any = 0
    places: int = 0
    elsewhere: float = 0.0


_current: ContextVar[_Meter | None] = ContextVar("meter", default=None)


@contextmanager
def measured(
    kind: str, model: torch.nn.Module, dtype: torch.dtype | None = None
) -> Iterator[None]:
    """Measure a `TRAINING` or `READING` with ``model`` and record it in `run.json`.

    ``dtype`` is the precision of its products (default: that of its parameters).
    Several measurements of a kind in one job are added up.  A measurement within
    another one, such as a reading during training, is not part of the outer one.
    """
    parameter = next(model.parameters())
    outer, meter = _current.get(), _Meter(kind)
    token = _current.set(meter)
    begun = time.monotonic()
    try:
        yield
    finally:
        if parameter.is_cuda:
            torch.cuda.synchronize(parameter.device)
        seconds = time.monotonic() - begun
        _current.reset(token)
        if outer:
            outer.elsewhere += seconds
    if not meter.places:
        return
    counts = {
        "tokens": int(meter.tokens),
        "places": meter.places,
        "seconds": seconds - meter.elsewhere,
    }
    about = {"precision": precision_name(dtype or parameter.dtype, parameter.device)}
    if parameter.is_cuda:
        peak = torch.cuda.max_memory_allocated(parameter.device)
        about["peak_gpu_memory_mib"] = peak // 2**20
    noted("throughput", lambda before: _added(before or {}, kind, counts, about))


def count(batch: Mapping[str, Any]) -> None:
    """Count the texts of a batch by its attention masks (texts, positions).

    A batch may have several masks, such as one for queries and one for documents.
    """
    meter = _current.get()
    if meter is None:
        return
    for name, mask in batch.items():
        if name.endswith("attention_mask"):
            meter.tokens = meter.tokens + mask.sum()
            meter.places += mask.numel()
    batches = f"batches of {meter.kind}"
    PROGRESS[batches] = PROGRESS.get(batches, 0) + 1


def _added(
    before: Mapping[str, Any],
    kind: str,
    counts: Mapping[str, float],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Return a job's throughput record with ``counts`` added to those of ``kind``."""
    earlier = before.get(kind, {})
    sums = {name: value + earlier.get(name, 0) for name, value in counts.items()}
    sums["seconds"] = round(sums["seconds"], 3)
    sums["padding_share"] = round(1 - sums["tokens"] / sums["places"], 4)
    if sums["seconds"]:
        sums["tokens_per_second"] = round(sums["tokens"] / sums["seconds"])
    return {**before, kind: {**sums, **about}}
