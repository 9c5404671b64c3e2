"""Linear layers by oneDNN on a processor, where torch would take MKL.

In single precision both compute the same products, and differ by their rounding alone; but MKL uses the
half of an AMD processor's vectors: on an EPYC with AVX-512 it does 99 thousand million operations a second
on one core, oneDNN 210.  The weights stay as they are.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def linear_by_onednn(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which linear layers on ``device`` go through oneDNN; nothing changes on a GPU.

    It is for inference: what is computed in it has no gradient.
    """
    if device.type == "cpu" and torch.backends.mkldnn.is_available():
        return _LinearByOneDNN()
    return nullcontext()


class _LinearByOneDNN(TorchFunctionMode):
    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func is functional.linear and not kwargs and args[0].dtype == torch.float32:
            data, weight, bias = (*args, None)[:3]
            return torch.ops.mkldnn._linear_pointwise(data, weight, bias, "none", [], "")
        return func(*args, **(kwargs or {}))
