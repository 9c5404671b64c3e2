"""Linear layers through oneDNN on a CPU, where torch would use MKL.

Results differ only by rounding in single precision.  MKL uses half of an AMD processor's vector width: on one
core of an EPYC with AVX-512 it reaches 99 GFLOP/s, oneDNN 210.  The weights are not changed.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def linear_by_onednn(device: torch.device) -> AbstractContextManager[Any]:
    """Return a context in which linear layers on ``device`` use oneDNN; it has no effect on a GPU.

    For inference only: it computes no gradients.
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
