"""CUAD's keys in the registry of papers."""

from collections.abc import Mapping

from lextables.registry.paper import Paper

DATA = "cuad"  # the data set whose models review a user's contract


class Cuad(Paper):
    """`resources/papers/cuad.yaml`.

    ``review``: models that review a user's contract, best first.  ``review_minimum``:
    spans with this probability or less are not shown.
    """

    contract_types: Mapping[str, str]
    review: tuple[str, ...]
    review_minimum: float


REGISTRY = Cuad
