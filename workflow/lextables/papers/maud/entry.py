"""MAUD's keys in the registry of papers."""

from collections.abc import Mapping
from typing import Any

from lextables.registry.paper import Paper


class Maud(Paper):
    """`resources/papers/maud.yaml`."""

    categories: Mapping[str, str]
    """{category in the release: its published name}."""
    constraints: Mapping[str, Any]
    """The constraints of Appendix A.3, as `papers.maud.constraints` checks them."""
    printed_types: Mapping[str, str]
    """{published name of a deal point type: its name in the release}, where they
    differ.
    """
    legalbench_queries: Mapping[str, str]
    """{LegalBench-RAG's question: deal point type}."""


ENTRY = Maud
