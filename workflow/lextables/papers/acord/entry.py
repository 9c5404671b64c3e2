"""ACORD's keys in the registry of papers."""

from collections.abc import Mapping

from lextables.registry.paper import Paper


class Acord(Paper):
    """`resources/papers/acord.yaml`."""

    categories: Mapping[str, str]
    """{category in the release: its published name}."""
    query_aliases: Mapping[str, str]
    """{title in the release's supplements: query id}, where they differ."""
    format_queries: Mapping[str, str]
    """{name of a query in the tables of Appendix E: query id}."""


ENTRY = Acord
