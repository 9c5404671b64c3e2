"""CUAD's keys in the registry of papers."""

from collections.abc import Mapping

from lextables.registry.paper import Paper


class Cuad(Paper):
    """`resources/papers/cuad.yaml`."""

    contract_types: Mapping[str, str]
    """{folder of the released PDFs: contract type in Table 3}."""


ENTRY = Cuad
