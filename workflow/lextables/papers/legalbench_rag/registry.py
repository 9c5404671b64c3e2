"""What LegalBench-RAG's file in the registry holds beside what every paper's does."""

from collections.abc import Mapping

from pydantic import PositiveInt

from lextables.papers.registry import Paper


class LegalBenchRag(Paper):
    """`resources/papers/legalbench_rag.yaml`.

    ``queries`` is how many a benchmark has at most, ``chunk`` the most characters of a passage, and
    ``separators`` are where a recursive splitter cuts, in their order.  ``unasked`` are CUAD's categories
    that the authors made no query of, ``titles`` those that hold a contract's name and its parties.
    """

    queries: PositiveInt
    chunk: PositiveInt
    separators: tuple[str, ...]
    unasked: tuple[str, ...]
    titles: Mapping[str, str]


REGISTRY = LegalBenchRag
