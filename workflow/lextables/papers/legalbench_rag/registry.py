"""LegalBench-RAG's keys in the registry of papers."""

from collections.abc import Mapping

from pydantic import PositiveInt

from lextables.papers.registry import Paper


class LegalBenchRag(Paper):
    """`resources/papers/legalbench_rag.yaml`.

    ``queries``: maximum number of queries of a benchmark.  ``chunk``: maximum number of characters of a
    passage.  ``separators``: where the recursive splitter cuts, in order.  ``unasked``: CUAD's categories
    without queries.  ``titles``: the categories with a contract's name and parties.
    """

    queries: PositiveInt
    chunk: PositiveInt
    separators: tuple[str, ...]
    unasked: tuple[str, ...]
    titles: Mapping[str, str]


REGISTRY = LegalBenchRag
