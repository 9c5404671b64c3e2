"""Inference with batches that are halved when a device runs out of memory."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import noted

T, R = TypeVar("T"), TypeVar("R")
MORE_MEMORY = "use a device with more memory, or a grid with shorter texts"
# Messages of libraries that run out of memory without torch's own error.
OTHER_MESSAGES = ("CUBLAS_STATUS_ALLOC_FAILED", "DefaultCPUAllocator: can't allocate memory")
_log = logging.getLogger("lextables")


def that_fits(size: int, work: Callable[[int], R]) -> tuple[int, R]:
    """Halve ``size`` until ``work(size)`` fits into memory; return that size and the result.

    Raises `BadInput` if size 1 does not fit.
    """
    while True:
        try:
            return size, work(size)
        except RuntimeError as error:
            if not out_of_memory(error):
                raise
            if size == 1:
                what = "one text does not fit into the memory of the device"
                raise BadInput(what, where="reading", do=MORE_MEMORY) from None
        size //= 2
        emptied()
        _log.warning("out of memory: batches have %d texts", size)
        noted("read_at_once", lambda before, size=size: min(size, before or size))


def in_parts_that_fit(rows: Sequence[T], size: int, work: Callable[[Sequence[T]], R]) -> Iterator[R]:
    """Yield the results of ``work`` for ``size`` of the ``rows`` at a time, fewer if they do not fit.

    Raises `BadInput` if not even one row fits.
    """
    done = 0
    while done < len(rows):
        start = done
        size, result = that_fits(size, lambda size, start=start: work(rows[start : start + size]))
        yield result
        done += size


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error means that memory ran out."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        message in str(error) for message in OTHER_MESSAGES
    )


def emptied() -> None:
    """Release unused cached memory of the device."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
