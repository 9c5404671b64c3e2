"""The check of predicted probabilities before they are scored."""

from typing import Any

from lextables.pipeline.errors import BadInput
from lextables.pipeline.finite import as_share


def checked_share(value: Any, where: str) -> float:
    """Return a probability from 0 to 1; one outside only by rounding becomes 0 or 1.

    Raises `BadInput`, with the place ``where``, for any other value.
    """
    share = None if value is None else as_share(value)
    if share is None:
        what = f"the probability {value!r} is not a number from 0 to 1"
        do = "give probabilities from 0 to 1, not per cent or logits"
        raise BadInput(what, where=where, do=do)
    return share
