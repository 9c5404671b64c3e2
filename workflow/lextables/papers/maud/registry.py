"""What MAUD's file in the registry holds beside what every paper's does."""

from collections.abc import Mapping
from typing import Any

from lextables.papers.registry import Paper


class Maud(Paper):
    """`resources/papers/maud.yaml`.

    ``questions`` and ``heads`` are how many there must be; ``categories`` maps a category to its printed
    name; ``printed_types`` and ``legalbench_queries`` say which deal point type a printed name or a question
    of LegalBench-RAG is about.
    """

    questions: int
    heads: int
    categories: Mapping[str, str]
    constraints: Mapping[str, Any]
    printed_types: Mapping[str, str]
    legalbench_queries: Mapping[str, str]


REGISTRY = Maud
