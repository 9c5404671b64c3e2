"""MAUD's keys in the registry of papers."""

from collections.abc import Mapping
from typing import Any

from lextables.registry.paper import Paper


class Maud(Paper):
    """`resources/papers/maud.yaml`.

    ``categories`` maps a category to its published name; ``printed_types`` and
    ``legalbench_queries`` map published names and LegalBench-RAG's questions to deal
    point types.
    """

    categories: Mapping[str, str]
    constraints: Mapping[str, Any]
    printed_types: Mapping[str, str]
    legalbench_queries: Mapping[str, str]


ENTRY = Maud
