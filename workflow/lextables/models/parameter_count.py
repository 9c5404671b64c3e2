"""The number of parameters of a registered model, and of the weights in its place.

A registered number (``parameters`` in `resources/models.yaml`) may be without heads and
poolers, and of tied weights a file may have one copy or several.
"""

from pathlib import Path

from lextables.models.resolve import Model
from lextables.models.stored import Tensor, tensors, weight_files
from lextables.pipeline.errors import BadInput

TOLERANCE = 0.1  # share of the registered number, for heads and poolers


def check(folder: Path, name: str, model: Model) -> None:
    """Raise `BadInput` if the weights in a folder of a mirror are not those of the
    registered model ``name``, by the number of their parameters.

    Only models of the hub are checked, and only their files of safetensors.
    """
    registered = model.parameters
    if model.hub is None or registered is None:
        return
    numbers = counts(folder)
    if not numbers:
        return
    tolerance = TOLERANCE * registered
    if any(abs(number - registered) <= tolerance for number in numbers):
        return
    what = f"its weights have {max(numbers):,} parameters, but {name}"
    raise BadInput(
        f"{what} has {registered:,}",
        where=str(folder),
        do=f"put the weights of {model.hub} there, or name another model in "
        "extra_models",
    )


def counts(folder: Path) -> set[int]:
    """Return the number of parameters in the files of safetensors that are loaded from
    a folder, and the number with only one copy of the largest matrix, the embeddings.

    Empty without such files.
    """
    stored: list[Tensor] = []
    for file in weight_files(folder):
        stored += tensors(file)
    if not stored:
        return set()
    number = sum(tensor.size for tensor in stored)
    largest = max(stored, key=lambda tensor: tensor.size)
    copies = [tensor.shape for tensor in stored].count(largest.shape) - 1
    return {number, number - copies * largest.size}
