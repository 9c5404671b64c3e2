"""Work in parts that fit: where a device runs out of memory, what it takes at once is halved."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import torch

from lextables.pipeline.errors import BadInput
from lextables.pipeline.run import noted

T, R = TypeVar("T"), TypeVar("R")
MORE_MEMORY = "use a device with more memory, or a grid with shorter texts"
# What libraries say in place of torch's own error, when they find no memory for themselves.
OTHER_WORDS = ("CUBLAS_STATUS_ALLOC_FAILED", "DefaultCPUAllocator: can't allocate memory")
_log = logging.getLogger("lextables")


def that_fits(size: int, work: Callable[[int], R]) -> tuple[int, R]:
    """Return ``work(size)`` behind the size, which is halved as often as memory runs out.

    `BadInput` where a size of 1 is too much.
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
        _log.warning("out of memory: %d are read at once", size)
        noted("read_at_once", lambda before, size=size: min(size, before or size))


def in_parts_that_fit(rows: Sequence[T], size: int, work: Callable[[Sequence[T]], R]) -> Iterator[R]:
    """Yield what ``work`` makes of ``rows``, ``size`` of them at a time, fewer where these do not fit.

    `BadInput` where not one row fits.
    """
    done = 0
    while done < len(rows):
        start = done
        size, found = that_fits(size, lambda size, start=start: work(rows[start : start + size]))
        yield found
        done += size


def out_of_memory(error: RuntimeError) -> bool:
    """Whether an error says that there is no memory left."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in OTHER_WORDS)


def emptied() -> None:
    """Give back to the device what no tensor holds."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
