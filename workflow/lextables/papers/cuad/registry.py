"""What CUAD's file in the registry holds beside what every paper's does."""

from collections.abc import Mapping

from lextables.papers.registry import Paper

DATA = "cuad"  # the data set whose models read a user's contract


class Cuad(Paper):
    """`resources/papers/cuad.yaml`.

    ``review`` are the models that read a user's contract, best first; ``review_minimum`` is the least
    probability that is shown.
    """

    contract_types: Mapping[str, str]
    review: tuple[str, ...]
    review_minimum: float


REGISTRY = Cuad
