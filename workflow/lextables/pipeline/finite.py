"""The rule for scores: a score exists only if every number behind it is finite.

Models check what they compute, because a ranking or a choice of the best answer hides a
number that is not finite; tables check each column of numbers when they are written and
read (`pipeline.dataset`).
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lextables.pipeline.errors import BadInput

# Tolerance: eight times the distance from 1 to the next larger number in single
# precision.
ROUNDING = 2.0**-20
# Advice in messages.
OTHER_WEIGHTS = (
    "use weights whose numbers are finite, or train with a lower learning rate"
)


class NotFinite(BadInput):
    """A model computed numbers that are not all finite.

    If this happens in a training after some updates, the training has diverged.
    """


def finite(
    values: np.ndarray, what: str, where: str = "", do: str = OTHER_WEIGHTS
) -> np.ndarray:
    """Return ``values``, of any shape; raise `NotFinite` if one is NaN or infinite.

    ``what`` names the values in the message, such as "the model's logits".
    """
    if not np.isfinite(values).all():
        raise NotFinite(f"{what} are not all finite numbers", where=where, do=do)
    return values


def as_share(value: float) -> float | None:
    """Return ``value`` as a share between 0 and 1; None if it lies outside.

    A value that is outside only by rounding in single precision (`ROUNDING`), such as a
    softmax of 1.0000001, becomes 0 or 1.
    """
    if -ROUNDING <= value <= 1 + ROUNDING:
        return min(max(value, 0.0), 1.0)
    return None


def is_of_floats(type_: pa.DataType) -> bool:
    """Whether a column of this type has decimal numbers, or lists of them."""
    while pa.types.is_list(type_):
        type_ = type_.value_type
    return pa.types.is_floating(type_)


def first_not_finite(column: Any, *, undefined: bool = False) -> float | None:
    """Return the first number of an Arrow column of numbers or lists that is not
    finite; None without one.

    With ``undefined`` NaN is allowed.
    """
    while pa.types.is_list(column.type):
        column = pc.list_flatten(column)
    numbers = np.asarray(column.drop_null(), dtype=np.float64)
    wrong = np.isinf(numbers) if undefined else ~np.isfinite(numbers)
    return float(numbers[wrong.argmax()]) if wrong.any() else None
